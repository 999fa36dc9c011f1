"""The names that conditions and requirements may use: attributes and relations of types, and parameters of questions.

`actions.yaml` declares those of Headgate. A model may declare further ones: of its types, and of the questions that its own
policy enforcement points ask.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from headgate.model.diagnostic_codes import DiagnosticCode
from headgate.model.model import Model
from headgate.model.reader import Reader, Value
from headgate.model.yaml_parser import Node

_KINDS_OF_TYPES = "kinds_of_types"
_WITH_OWN_COMMANDS = "types_with_own_commands"
_NAMES_OF_TYPES = ("attributes", "relations")
_NAMES_OF_ACTIONS = ("word_parameters", "resource_parameters", "asked_parameters")
BLOCKS = (_KINDS_OF_TYPES, _WITH_OWN_COMMANDS, *_NAMES_OF_TYPES, *_NAMES_OF_ACTIONS)
"""The blocks of the vocabulary with declared names."""

CREATOR = "created_by"
"""The word for the creator of a resource; only `named_in` may use it as a relation."""

_CREATES = "create_"
_SETTING_ATTRIBUTES = ("edit", "alter")
"""The verbs that are asked when attributes are set; those attributes are the question's words."""

_NEW_VALUE = ("mode",)
"""The parameter of `set_SETTING`: the new value."""

Names = Mapping[str, tuple[str, ...]]
"""Names by type, or by action."""


def _no_names() -> Names:
    return {}


@dataclass(frozen=True, slots=True)
class DeclaredNames:
    """The declared names. `attributes` and `relations` are by type, the parameters by action.

    `words` are parameters whose values are words, `resources` those whose values are resources; commands pass both.
    `asked` are parameters that no command passes, but a caller of the API may. `kinds` are words that are no types: each
    with the type of which it is a kind. `with_own_commands` are the types whose commands pass no attributes or relations.
    """

    attributes: Names = field(default_factory=_no_names)
    relations: Names = field(default_factory=_no_names)
    words: Names = field(default_factory=_no_names)
    resources: Names = field(default_factory=_no_names)
    asked: Names = field(default_factory=_no_names)
    kinds: Mapping[str, str] = field(default_factory=dict[str, str])
    with_own_commands: tuple[str, ...] = ()

    def words_of(self, action: str) -> tuple[str, ...]:
        """Return the parameters of questions for an action that a condition may compare: `with.scope is team`."""
        return _unique((*self.passed_words(action), *self.asked.get(action, ())))

    def resources_of(self, action: str) -> tuple[str, ...]:
        """Return the parameters of questions for an action on which a role may be required: `with.cluster: user`."""
        return _unique((*self.passed_resources(action), *self.asked.get(action, ())))

    def passed_words(self, action: str) -> tuple[str, ...]:
        """Return the words that Headgate's commands pass with a question for an action."""
        type, _, verb = action.partition(".")
        created = self.attributes.get(self.created_type(action), ())
        sets = verb in _SETTING_ATTRIBUTES and type not in self.with_own_commands
        changed = self.attributes.get(type, ()) if sets else ()
        return _unique((*self.words.get(action, ()), *created, *changed))

    def passed_resources(self, action: str) -> tuple[str, ...]:
        """Return the resources that Headgate's commands pass with a question for an action."""
        created = self.relations.get(self.created_type(action), ())
        return _unique((*self.resources.get(action, ()), *created))

    def created_type(self, action: str) -> str:
        """Return the type of the resource that an action creates with attributes and relations; empty if it creates none."""
        verb = action.partition(".")[2]
        word = verb.removeprefix(_CREATES) if verb.startswith(_CREATES) else ""
        return "" if word in self.with_own_commands else self.kinds.get(word, word)

    def of_model(self, model: Model) -> "DeclaredNames":
        """Return the names together with those that a model declares itself."""
        settings = model.settings.values()
        return replace(
            self,
            attributes=_merged(self.attributes, {name: type.attributes for name, type in model.types.items()}),
            relations=_merged(self.relations, {name: type.relations for name, type in model.types.items()}),
            words=_merged(self.words, {f"{type}.set_{each.name}": _NEW_VALUE for each in settings for type in each.on}),
            asked=_merged(self.asked, model.parameters),
        )


def read_names(
    read: Reader, blocks: Mapping[str, Node], groups: Mapping[str, tuple[str, ...]], actions: Collection[str]
) -> DeclaredNames:
    """Return the declared names of the vocabulary; `groups` are its types, and its lists of types, by name."""
    single = {action: (action,) for action in actions}
    attributes, relations = (
        _read(read, blocks.get(name), groups, DiagnosticCode.UNKNOWN_TYPE) for name in _NAMES_OF_TYPES
    )
    words, resources, asked = (
        _read(read, blocks.get(name), single, DiagnosticCode.UNKNOWN_ACTION) for name in _NAMES_OF_ACTIONS
    )
    kinds = {
        key.value: read.known_name(type, groups, DiagnosticCode.UNKNOWN_TYPE)
        for key, type in read.entries(blocks.get(_KINDS_OF_TYPES))
    }
    own = read.known_names(read.words(blocks.get(_WITH_OWN_COMMANDS)), groups, DiagnosticCode.UNKNOWN_TYPE)
    return DeclaredNames(attributes, relations, words, resources, asked, kinds, own)


def _read(read: Reader, value: Value, groups: Mapping[str, tuple[str, ...]], unknown: DiagnosticCode) -> Names:
    """Return the names of a block; each of its keys is one of the groups, or several separated by commas."""
    found: dict[str, tuple[str, ...]] = {}
    for key, words in read.entries(value):
        names = tuple(read.name(word) for word in read.words(words))
        for group in read.known_names(read.name_list(key), groups, unknown):
            for each in groups[group]:
                found[each] = _unique((*found.get(each, ()), *names))
    return found


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
