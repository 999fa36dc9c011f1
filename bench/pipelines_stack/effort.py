"""How much is measured."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Effort:
    """Sizes of what is measured, each an option of the command line."""

    rounds: int = 10
    """Of a small run."""
    loads: int = 2
    """Of the large load."""
    scale: float = 1.7
    """The scale factor of TPC-H whose lineitem is loaded: 6 million rows for each 1."""
    table: int = 200_000
    """Rows of the smaller table that is upserted into; the larger one has ten times as many."""
    changed: int = 2_000
    """Rows that an upsert changes."""


QUICK = Effort(rounds=2, loads=1, scale=0.01, table=2_000, changed=100)
