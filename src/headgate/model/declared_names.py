"""The names that conditions and requirements may use: attributes and relations of types, and parameters of questions.

`actions.yaml` declares those of Headgate. A model may declare further ones: of its types, and of the questions that its own
policy enforcement points ask.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

CREATOR = "created_by"
"""The word for the creator of a resource; only `named_in` may use it as a relation."""

_CREATES = "create_"
_SETTING_ATTRIBUTES = ("edit", "alter")
"""The verbs that are asked when attributes are set; those attributes are the question's words."""

Names = Mapping[str, tuple[str, ...]]
"""Names by type, or by action."""


def _no_names() -> Names:
    return {}


@dataclass(frozen=True, slots=True)
class DeclaredNames:
    """The declared names. `attributes` and `relations` are by type, the parameters by action.

    `words` are parameters whose values are words, `resources` those whose values are resources; commands pass both.
    `asked` are parameters that no command passes, but a caller of the API may. `kinds` are words that are no types: each
    with the type of which it is a kind.
    """

    attributes: Names = field(default_factory=_no_names)
    relations: Names = field(default_factory=_no_names)
    words: Names = field(default_factory=_no_names)
    resources: Names = field(default_factory=_no_names)
    asked: Names = field(default_factory=_no_names)
    kinds: Mapping[str, str] = field(default_factory=dict[str, str])

    def words_of(self, action: str) -> tuple[str, ...]:
        """Return the parameters of questions for an action that a condition may compare: `with.scope is team`."""
        type, _, verb = action.partition(".")
        created = self.attributes.get(self.created_type(action), ())
        changed = self.attributes.get(type, ()) if verb in _SETTING_ATTRIBUTES else ()
        return _unique((*self.words.get(action, ()), *created, *changed, *self.asked.get(action, ())))

    def resources_of(self, action: str) -> tuple[str, ...]:
        """Return the parameters of questions for an action on which a role may be required: `with.cluster: user`."""
        created = self.relations.get(self.created_type(action), ())
        return _unique((*self.resources.get(action, ()), *created, *self.asked.get(action, ())))

    def created_type(self, action: str) -> str:
        """Return the type of the resource that an action creates; empty if it creates none."""
        verb = action.partition(".")[2]
        word = verb.removeprefix(_CREATES) if verb.startswith(_CREATES) else ""
        return self.kinds.get(word, word)

    def with_own(self, attributes: Names, relations: Names, asked: Names) -> "DeclaredNames":
        """Return the names together with those that a model declares itself."""
        return DeclaredNames(
            _merged(self.attributes, attributes),
            _merged(self.relations, relations),
            self.words,
            self.resources,
            _merged(self.asked, asked),
            self.kinds,
        )


def _merged(names: Names, more: Names) -> Names:
    keys = dict.fromkeys((*names, *more))
    return {key: _unique((*names.get(key, ()), *more.get(key, ()))) for key in keys}


def _unique(names: Collection[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def names_of(names: Names, keys: Collection[str]) -> frozenset[str]:
    """Return the names of all these types or actions."""
    return frozenset(_each(names, keys))


def _each(names: Names, keys: Collection[str]) -> Iterator[str]:
    for key in keys:
        yield from names.get(key, ())
