"""The one vocabulary of actions, and with it the types of the tree, read from `actions.yaml`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from headgate.model.diagnostic_codes import DiagnosticCode
from headgate.model.diagnostics import DiagnosticReport, ModelError
from headgate.model.reader import Reader
from headgate.model.yaml_positions import ListNode, Node, ScalarNode, parse_yaml

MODELS = ("nekt", "y42", "onehouse", "datamesh")
"""The shipped models, each with a column of its own."""

ASSIGNMENT = "assignment"
"""The block of actions that are asked on many types: those of assigning roles."""

_SPARK = "spark"
_NOT_HERE = "-"
_WITHOUT_ACTIONS = "types_without_actions"


@dataclass(frozen=True, slots=True)
class Action:
    """A canonical action, `type.verb`: the types it is asked on, its names by model, the Spark operations that need it.

    A model that has no name for it has none in `names`.
    """

    name: str
    on: tuple[str, ...]
    names: Mapping[str, tuple[str, ...]]
    spark: tuple[str, ...]


class Vocabulary(Mapping[str, Action]):
    """The actions by name; and the types of the tree, which all models share."""

    def __init__(self, actions: Mapping[str, Action], types: tuple[str, ...]) -> None:
        self._actions = actions
        self.types = types

    def __getitem__(self, name: str) -> Action:
        return self._actions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._actions)

    def __len__(self) -> int:
        return len(self._actions)

    def of(self, type: str) -> tuple[str, ...]:
        """Return the names of a type's own actions."""
        return tuple(name for name in self._actions if name.partition(".")[0] == type)


def load_actions(text: str, file: str = "actions.yaml") -> Vocabulary:
    """Return the vocabulary. Raises `ModelError` for what is no action, and for an empty, missing or unknown cell."""
    report = DiagnosticReport(file)
    read = Reader(report)
    blocks = {key.value: (key, body) for key, body in read.entries(parse_yaml(text, report))}
    _, without = blocks.pop(_WITHOUT_ACTIONS, (None, None))
    actions: dict[str, Action] = {}
    for key, body in blocks.values():
        for type in read.name_list(key):
            _add_block(read, type, body, actions)
    types = [type.value for key, _ in blocks.values() for type in key.split(",") if type.value != ASSIGNMENT]
    types += [type.value for type in read.words(without)]
    if report.has_errors:
        raise ModelError(report.diagnostics())
    return Vocabulary(actions, tuple(dict.fromkeys(types)))


def _add_block(read: Reader, type: ScalarNode, body: Node, actions: dict[str, Action]) -> None:
    for verb, row in read.entries(body):
        fields = read.fields(row, (*MODELS, _SPARK), ("on",))
        name = f"{type.value}.{read.name(verb)}"
        if name in actions:
            read.report.add(DiagnosticCode.KEY_TWICE, type, key=name)
        on = tuple(word.value for word in read.non_empty_list(fields, "on")) or (type.value,)
        cells = {column: _cell(read, name, fields.get(column)) for column in (*MODELS, _SPARK)}
        names = {model: cells[model] for model in MODELS if cells[model]}
        actions[name] = Action(name, on, names, cells[_SPARK])


def _cell(read: Reader, action: str, cell: Node | None) -> tuple[str, ...]:
    if (isinstance(cell, ScalarNode) and not cell.value.strip()) or (isinstance(cell, ListNode) and not cell.values):
        read.report.add(DiagnosticCode.EMPTY_CELL, cell, "write a name or `-`", action=action)
        return ()
    return tuple(word.value for word in read.word_or_words(cell) if word.value != _NOT_HERE)
