"""The vocabulary of actions, the types of the tree and lists of types, read from `actions.yaml`."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from typing_extensions import override

from headgate.model.diagnostic_codes import DiagnosticCode
from headgate.model.diagnostics import DiagnosticReport, ModelError
from headgate.model.reader import Reader
from headgate.model.yaml_parser import ListNode, Node, ScalarNode, parse_yaml

ASSIGNMENT = "assignment"
"""The block of the actions that assign roles; they apply to every type of `types_with_assignments`."""

_SPARK = "spark"
_NOT_HERE = "-"
_TYPES_WITH_ASSIGNMENTS = "types_with_assignments"
_PIPELINE_KINDS = "pipeline_kinds"


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
    """The actions by name; the types of the tree, which all models share; and the types that are kinds of pipelines.

    `models` are the names of the access models that have a column: their names of the actions.
    """

    def __init__(
        self,
        actions: Mapping[str, Action],
        types: tuple[str, ...],
        pipeline_kinds: tuple[str, ...],
        models: tuple[str, ...],
    ) -> None:
        self._actions = actions
        self.models = models
        self.types = types
        self.pipeline_kinds = pipeline_kinds

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
    _, assigned = blocks.pop(_TYPES_WITH_ASSIGNMENTS, (None, None))
    _, kinds = blocks.pop(_PIPELINE_KINDS, (None, None))
    types = [type.value for key, _ in blocks.values() for type in key.split(",") if type.value != ASSIGNMENT]
    with_assignments = read.known_names(read.words(assigned), types, DiagnosticCode.UNKNOWN_TYPE)
    pipeline_kinds = read.known_names(read.words(kinds), types, DiagnosticCode.UNKNOWN_TYPE)
    actions: dict[str, Action] = {}
    models = _find_columns(read, blocks.values())
    for key, body in blocks.values():
        for type in read.name_list(key):
            on = with_assignments if type.value == ASSIGNMENT else (type.value,)
            for action in _read_block(read, type, body, on, models):
                if action.name in actions:
                    read.report.add(DiagnosticCode.KEY_TWICE, type, key=action.name)
                actions[action.name] = action
    if report.has_errors:
        raise ModelError(report.diagnostics())
    return Vocabulary(actions, tuple(dict.fromkeys(types)), pipeline_kinds, models)


def _find_columns(read: Reader, blocks: Iterable[tuple[ScalarNode, Node]]) -> tuple[str, ...]:
    """Return the names of the access models that have a column: the columns of the first row, which every row must have."""
    first = next((row for _, body in blocks for _, row in read.entries(body)), None)
    return tuple(key.value for key, _ in read.entries(first) if key.value != _SPARK)


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
