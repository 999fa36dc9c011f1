"""The vocabulary of actions, the types of the tree and lists of types, read from `actions.yaml`."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from typing_extensions import override

from headgate.model.declared_names import BLOCKS, DeclaredNames, read_names
from headgate.model.diagnostic_codes import DiagnosticCode
from headgate.model.diagnostics import DiagnosticReport, ModelError
from headgate.model.model import Model, OperationTable, Setting, Type
from headgate.model.reader import Reader
from headgate.model.yaml_parser import ListNode, Node, ScalarNode, parse_yaml

ASSIGNMENT = "assignment"
"""The block of the actions that assign roles; they apply to every type."""

OWN_TYPE_VERBS = ("describe", "edit", "delete")
"""The verbs of every type that a model defines: those that the commands for all resources ask about."""

_SPARK = "spark"
_NOT_HERE = "-"
_PIPELINE_KINDS = "pipeline_kinds"
_MODELS = "models"
_LISTS = (_PIPELINE_KINDS, _MODELS, *BLOCKS)
"""The blocks of the vocabulary that are not the actions of types."""


@dataclass(frozen=True, slots=True)
class Action:
    """A canonical action, `type.verb`: its types, its names by model, and the Spark operations that require it.

    A model without a name for the action is not in `names`.
    """

    name: str
    on: tuple[str, ...]
    names: Mapping[str, tuple[str, ...]]
    spark: tuple[str, ...]


class Vocabulary(Mapping[str, Action]):
    """The actions by name, the types of the tree, which all models share, lists of types, and the declared names.

    `models` are the names of the access models that have a column: their names of the actions. `operations` are the needs of
    the operations, which a model can restate.
    """

    def __init__(
        self,
        actions: Mapping[str, Action],
        types: tuple[str, ...],
        pipeline_kinds: tuple[str, ...],
        models: tuple[str, ...],
        names: DeclaredNames,
        operations: OperationTable,
    ) -> None:
        self._actions = actions
        self.models = models
        self.types = types
        self.pipeline_kinds = pipeline_kinds
        self.names = names
        self.operations = operations

    @override
    def __getitem__(self, name: str) -> Action:
        return self._actions[name]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._actions)

    @override
    def __len__(self) -> int:
        return len(self._actions)

    def of(self, type: str) -> tuple[str, ...]:
        """Return the names of a type's own actions."""
        return tuple(name for name in self._actions if name.partition(".")[0] == type)

    def extend(
        self, types: Mapping[str, Type], settings: Mapping[str, Setting], verbs: Mapping[str, Collection[str]]
    ) -> "Vocabulary":
        """Return the vocabulary of a model: with its own types and verbs, and the actions that follow from its types.

        `create_TYPE` is an action on each type that may be its parent, `set_SETTING` one on each type of the setting.
        """
        own = tuple(name for name, type in types.items() if type.is_own)
        names = [
            *(f"{type}.{verb}" for type in own for verb in OWN_TYPE_VERBS),
            *(f"{above}.create_{name}" for name, type in types.items() if not type.implicit for above in type.parents),
            *(f"{type}.set_{name}" for name, each in settings.items() for type in each.on),
            *(f"{type}.{verb}" for type, listed in verbs.items() for verb in listed),
        ]
        new = {name: Action(name, (name.partition(".")[0],), {}, ()) for name in names if name not in self}
        all_types = (*self.types, *own)
        shared = {
            name: Action(name, all_types, action.names, action.spark)
            if own and name.startswith(f"{ASSIGNMENT}.")
            else action
            for name, action in self._actions.items()
        }
        return Vocabulary({**shared, **new}, all_types, self.pipeline_kinds, self.models, self.names, self.operations)

    def of_model(self, model: Model) -> "Vocabulary":
        """Return the vocabulary of a model; see `extend`."""
        return self.extend(model.types, model.settings, model.verbs)


def load_actions(
    text: str, file: str = "actions.yaml", operations: OperationTable = MappingProxyType({})
) -> Vocabulary:
    """Return the vocabulary.

    Raises `ModelError` for an invalid action, for an empty, missing or unknown cell, and for an unknown type in a list.
    """
    report = DiagnosticReport(file)
    read = Reader(report)
    blocks = {key.value: (key, body) for key, body in read.entries(parse_yaml(text, report))}
    lists = {name: blocks.pop(name)[1] for name in _LISTS if name in blocks}
    types = [type.value for key, _ in blocks.values() for type in key.split(",") if type.value != ASSIGNMENT]
    pipeline_kinds = read.known_names(read.words(lists.get(_PIPELINE_KINDS)), types, DiagnosticCode.UNKNOWN_TYPE)
    actions: dict[str, Action] = {}
    models = tuple(word.value for word in read.words(lists.get(_MODELS)))
    for key, body in blocks.values():
        for type in read.name_list(key):
            on = tuple(dict.fromkeys(types)) if type.value == ASSIGNMENT else (type.value,)
            for action in _read_block(read, type, body, on, models):
                if action.name in actions:
                    read.report.add(DiagnosticCode.KEY_TWICE, type, key=action.name)
                actions[action.name] = action
    names = read_names(read, lists, {**{type: (type,) for type in types}, _PIPELINE_KINDS: pipeline_kinds}, actions)
    if report.has_errors:
        raise ModelError(report.diagnostics())
    return Vocabulary(actions, tuple(dict.fromkeys(types)), pipeline_kinds, models, names, operations)


def _read_block(
    read: Reader, type: ScalarNode, body: Node, on: tuple[str, ...], models: tuple[str, ...]
) -> Iterator[Action]:
    for verb, row in read.entries(body):
        fields = read.fields(row, (*models, _SPARK))
        name = f"{type.value}.{read.name(verb)}"
        cells = {column: _cell(read, name, fields.get(column)) for column in (*models, _SPARK)}
        yield Action(name, on, {model: cells[model] for model in models if cells[model]}, cells[_SPARK])


def _cell(read: Reader, action: str, cell: Node | None) -> tuple[str, ...]:
    if (isinstance(cell, ScalarNode) and not cell.value.strip()) or (isinstance(cell, ListNode) and not cell.values):
        read.report.add(DiagnosticCode.EMPTY_CELL, cell, "write a name or `-`", action=action)
        return ()
    return tuple(word.value for word in read.word_or_words(cell) if word.value != _NOT_HERE)
