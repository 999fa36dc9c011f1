"""The one vocabulary of actions, read from `actions.yaml`."""

from collections.abc import Mapping
from dataclasses import dataclass

from headgate.model.marked import Text, parse
from headgate.model.reader import Reader

_COLUMNS = ("nekt", "on", "spark")


@dataclass(frozen=True, slots=True)
class Action:
    """A canonical action: its name, the types it is asked on, its name per model, the Spark operations that need it."""

    name: str
    on: tuple[str, ...]
    nekt: str | None
    spark: str | None


def load_actions(text: str, file: str = "actions.yaml") -> Mapping[str, Action]:
    """Return the actions by name. Raises `ModelError` for an empty or unknown cell."""
    reader = Reader(file)
    document = parse(text, file)
    actions: dict[str, Action] = {}
    for name, value in reader.table(document).items():
        row = reader.table(value, _COLUMNS)
        on = tuple(reader.text(each) for each in reader.items(row["on"])) if "on" in row else (name.split(".")[0],)
        cells = {column: reader.section(row, column, value) for column in ("nekt", "spark")}
        for cell in cells.values():
            if not isinstance(cell, Text) or not cell.value.strip():
                raise reader.fail(cell, f"a cell of `{name}` is empty; write a name or `-`")
        actions[name] = Action(name, on, *(_cell(reader.text(cells[column])) for column in ("nekt", "spark")))
    return actions


def _cell(word: str) -> str | None:
    return None if word == "-" else word
