"""The output of the command line: tables for people, one sentence for a failure, data for programs. No other module prints.

Names, rows, logs and refusals contain text of other users. Their control characters are escaped, so that a terminal does not
interpret them. Data that does not go to a terminal is written unchanged.
"""

import csv
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text
from typing_extensions import override

from headgate.control.text.terminal_text import terminal_json, terminal_line, terminal_text

OutputFormat = Literal["table", "json"]
"""The formats of an output: a table for people, or JSON for programs."""

Column = str | Callable[[Mapping[str, Any]], Any]
"""The source of a column: the name of a field, or a function of the item."""


class EscapingConsole(Console):
    """A console that escapes the control characters of its input, but not those that it adds itself."""

    @override
    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Yield the segments to write."""
        for each in super().render(renderable, options):
            yield each if each.control else Segment(terminal_text(each.text), each.style)


console = EscapingConsole()
errors = EscapingConsole(stderr=True)
_UNLIMITED = 100_000


def say(line: str) -> None:
    """Print a line."""
    _say(console, line)


def note(line: str) -> None:
    """Print a line to the standard error, apart from the output."""
    _say(errors, line)


def fail(sentence: str) -> None:
    """Print the reason of a failure to the standard error."""
    _say(errors, f"headgate: {sentence}", style="red")


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print rows under their columns, each row on one line: a line break in other users' text would forge a row."""
    drawn = Table(*map(terminal_text, columns), box=None, pad_edge=False, header_style="bold")
    for row in rows:
        drawn.add_row(*("" if cell is None else terminal_line(str(cell)) for cell in row))
    print_drawing(drawn)


def print_items(items: Iterable[Mapping[str, Any]], columns: Mapping[str, Column], output: OutputFormat) -> bool:
    """Print items as a table with these columns, or all their fields as a JSON array. Return whether there are any."""
    found = list(items)
    if output == "json":
        write_json(found, indent=2)
    else:
        print_table(list(columns), [[_cell(each, column) for column in columns.values()] for each in found])
    return bool(found)


def print_item(item: Mapping[str, Any], lines: Mapping[str, Any], output: OutputFormat) -> None:
    """Print an item: these lines without the empty ones, or all fields of the item as JSON."""
    if output == "json":
        write_json(item, indent=2)
    else:
        print_table(("", ""), [line for line in lines.items() if line[1] not in (None, "", [], {})])


def _cell(item: Mapping[str, Any], column: Column) -> Any:
    return item[column] if isinstance(column, str) else column(item)


def print_drawing(drawn: RenderableType) -> None:
    """Print a table or a tree: wrapped to the width of a terminal; to a file or pipe with every cell in full, on one line."""
    (console if console.is_terminal else EscapingConsole(width=_UNLIMITED)).print(drawn, markup=False, highlight=False)


def build_progress(line: str) -> Text:
    """Return a progress line for a status display, as text without markup."""
    return Text(terminal_text(line))


def write_json(value: Any, indent: int | None = None) -> None:
    """Print a value as JSON, with control characters escaped, which does not change the value."""
    sys.stdout.write(terminal_json(json.dumps(value, ensure_ascii=False, indent=indent)) + "\n")


def write_csv(rows: Iterable[Sequence[Any]]) -> None:
    """Print rows as CSV."""
    csv.writer(_Data(), lineterminator="\n").writerows(rows)


def write_text(text: str) -> None:
    """Print a text that is data: unchanged, except to a terminal, where control characters are escaped."""
    _Data().write(text)


def format_end(ends: float | None) -> str:
    """Return until when something holds (seconds since the epoch; None = no end), as a phrase."""
    return "without an end" if ends is None else f"until {format_time(ends)}"


def format_time(seconds: float | None) -> str:
    """Return a time (seconds since the epoch) as UTC date and time; empty for None."""
    if seconds is None:
        return ""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(sep=" ", timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return f"{seconds:g} s after 1970"  # outside the range of dates


class _Data:
    """The standard output as a file for data."""

    def write(self, text: str) -> None:
        """Write a text unchanged; to a terminal with control characters escaped."""
        sys.stdout.write(terminal_text(text) if sys.stdout.isatty() else text)


def _say(to: Console, line: str, style: str | None = None) -> None:
    to.print(terminal_text(line), markup=False, highlight=False, soft_wrap=True, style=style)
