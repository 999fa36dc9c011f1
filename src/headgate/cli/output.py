"""What the command line prints: tables for people, one sentence for a failure."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.table import Table

console = Console()
errors = Console(stderr=True)
_UNLIMITED = 100_000


def say(line: str) -> None:
    """Print a line as it is."""
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def fail(sentence: str) -> None:
    """Print why it did not work."""
    errors.print(f"headgate: {sentence}", markup=False, highlight=False, soft_wrap=True, style="red")


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print rows under their columns."""
    drawn = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        drawn.add_row(*("" if cell is None else str(cell) for cell in row))
    draw(drawn)


def draw(drawn: Table) -> None:
    """Print a table. Only a terminal has a width: a file or a pipe gets every cell in full, on one line."""
    (console if console.is_terminal else Console(width=_UNLIMITED)).print(drawn, markup=False)


def when(seconds: float | None) -> str:
    """Return a time (seconds since the epoch) as people read it; empty for none."""
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(sep=" ", timespec="seconds")
