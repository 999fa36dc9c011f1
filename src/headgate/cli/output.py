"""What the command line prints: tables for people, one sentence for a failure."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

console = Console()
errors = Console(stderr=True)


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
    console.print(drawn, markup=False)
