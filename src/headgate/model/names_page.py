"""Generator of the documentation page of the declared names: attributes, relations and parameters."""

from collections.abc import Collection, Iterator

from headgate.model.markdown import table
from headgate.model.suggestions import quoted
from headgate.model.vocabulary import Vocabulary

_NONE = "-"


def names_page(actions: Vocabulary) -> str:
    """Return the attributes and relations of the types, and the parameters of the actions, as a page in Markdown."""
    return "\n".join((*_head(), *_types(actions), *_parameters(actions), *_asked(actions))).rstrip() + "\n"


def _head() -> Iterator[str]:
    yield "# Attributes, relations and parameters"
    yield ""
    yield (
        "The names that conditions and requirements of an access model may use. The checker reports any other name "
        "([HG-M210 to HG-M212](model-diagnostics.md)). Written by `headgate model document names` from `actions.yaml`, which the "
        "tests compare with the commands."
    )
    yield ""


def _types(actions: Vocabulary) -> Iterator[str]:
    yield "## Types"
    yield ""
    yield (
        "A condition compares an attribute: `self.kind is view`, `parent.name in a b`. A rule follows a relation: "
        "`roles: {self.cluster: user}`, `along: port`, `weakest_over: [inputs]`. A type that the table lacks has neither. The creator "
        "of a resource is `created_by`, which only `named_in` may use. A model declares further ones in its `types`: "
        "`table: {under: [database], attributes: [status], relations: [steward]}`."
    )
    yield ""
    names = actions.names
    rows = [
        (f"`{type}`", _cell(names.attributes.get(type, ())), _cell(names.relations.get(type, ())))
        for type in actions.types
    ]
    yield from table(("type", "attributes", "relations"), _stated(rows))
    yield from (f"A `{word}` is a `{type}` of kind `{word}`." for word, type in names.kinds.items())
    yield ""


def _parameters(actions: Vocabulary) -> Iterator[str]:
    yield "## Parameters"
    yield ""
    yield (
        "What Headgate's commands and endpoints pass with the question for an action. A condition compares words: "
        "`with.scope is team`. A requirement has roles on resources: `roles: {with.cluster: user}`. A command may leave a "
        "parameter out; a condition on a missing word does not hold, and its negation does. The role and the subject of an "
        "assignment are no parameters. An action that the table lacks has none."
    )
    yield ""
    names = actions.names
    rows = [(f"`{name}`", _cell(names.passed_words(name)), _cell(names.passed_resources(name))) for name in actions]
    yield from table(("action", "words", "resources"), _stated(rows))


def _asked(actions: Vocabulary) -> Iterator[str]:
    yield "## Parameters that no command passes"
    yield ""
    yield (
        "A caller of the API or of AuthZEN may pass these; Headgate's own commands never do. A model declares its own in the "
        "section `parameters`: `table.drop: [soft]`."
    )
    yield ""
    rows = [(f"`{name}`", _cell(words)) for name, words in actions.names.asked.items()]
    yield from table(("action", "words or resources"), rows)


def _cell(names: Collection[str]) -> str:
    return quoted(names) or _NONE


def _stated(rows: Collection[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Return the rows that state a name."""
    return [row for row in rows if row[1:] != (_NONE, _NONE)]
