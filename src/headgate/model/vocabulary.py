"""The vocabulary of actions, the types of the tree and lists of types, read from `actions.yaml`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from typing_extensions import override

from headgate.model.declared_names import BLOCKS, DeclaredNames, read_names
from headgate.model.diagnostic_codes import DiagnosticCode
from headgate.model.diagnostics import DiagnosticReport, ModelError
from headgate.model.reader import Reader
from headgate.model.yaml_parser import ListNode, Node, ScalarNode, parse_yaml

MODELS = ("nekt", "y42", "onehouse", "datamesh")
"""The shipped models; each has a column in the vocabulary."""

ASSIGNMENT = "assignment"
"""The block of the actions that assign roles; they apply to every type of `types_with_assignments`."""

_SPARK = "spark"
_NOT_HERE = "-"
_TYPES_WITH_ASSIGNMENTS = "types_with_assignments"
_PIPELINE_KINDS = "pipeline_kinds"
_LISTS = (_TYPES_WITH_ASSIGNMENTS, _PIPELINE_KINDS, *BLOCKS)
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
    """The actions by name, the types of the tree, which all models share, lists of types, and the declared names."""

    def __init__(
        self,
        actions: Mapping[str, Action],
        types: tuple[str, ...],
        pipeline_kinds: tuple[str, ...],
        names: DeclaredNames,
    ) -> None:
        self._actions = actions
        self.types = types
        self.pipeline_kinds = pipeline_kinds
        self.names = names

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


def load_actions(text: str, file: str = "actions.yaml") -> Vocabulary:
    """Return the vocabulary.

    Raises `ModelError` for an invalid action, for an empty, missing or unknown cell, and for an unknown type in a list.
    """
    report = DiagnosticReport(file)
    read = Reader(report)
    blocks = {key.value: (key, body) for key, body in read.entries(parse_yaml(text, report))}
    lists = {name: blocks.pop(name)[1] for name in _LISTS if name in blocks}
    types = [type.value for key, _ in blocks.values() for type in key.split(",") if type.value != ASSIGNMENT]
    with_assignments, pipeline_kinds = (
        read.known_names(read.words(lists.get(name)), types, DiagnosticCode.UNKNOWN_TYPE)
        for name in (_TYPES_WITH_ASSIGNMENTS, _PIPELINE_KINDS)
    )
    actions: dict[str, Action] = {}
    for key, body in blocks.values():
        for type in read.name_list(key):
            _add_block(read, type, body, with_assignments, actions)
    names = read_names(read, lists, {**{type: (type,) for type in types}, _PIPELINE_KINDS: pipeline_kinds}, actions)
    if report.has_errors:
        raise ModelError(report.diagnostics())
    return Vocabulary(actions, tuple(dict.fromkeys(types)), pipeline_kinds, names)


def _add_block(
    read: Reader, type: ScalarNode, body: Node, with_assignments: tuple[str, ...], actions: dict[str, Action]
) -> None:
    on = with_assignments if type.value == ASSIGNMENT else (type.value,)
    for verb, row in read.entries(body):
        fields = read.fields(row, (*MODELS, _SPARK))
        name = f"{type.value}.{read.name(verb)}"
        if name in actions:
            read.report.add(DiagnosticCode.KEY_TWICE, type, key=name)
        cells = {column: _cell(read, name, fields.get(column)) for column in (*MODELS, _SPARK)}
        names = {model: cells[model] for model in MODELS if cells[model]}
        actions[name] = Action(name, on, names, cells[_SPARK])


def _cell(read: Reader, action: str, cell: Node | None) -> tuple[str, ...]:
    if (isinstance(cell, ScalarNode) and not cell.value.strip()) or (isinstance(cell, ListNode) and not cell.values):
        read.report.add(DiagnosticCode.EMPTY_CELL, cell, "write a name or `-`", action=action)
        return ()
    return tuple(word.value for word in read.word_or_words(cell) if word.value != _NOT_HERE)
