"""The amount of measurements."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Effort:
    """Sizes of the measurements; each is an option of the command line."""

    rounds: int = 10
    """Rounds of a small run."""
    loads: int = 2
    """Rounds of the large load."""
    scale: float = 1.7
    """The scale factor of TPC-H whose lineitem is loaded: 6 million rows for each 1."""
    table: int = 200_000
    """Rows of the smaller target table of upserts; the larger one has ten times as many."""
    changed: int = 2_000
    """Rows that an upsert changes."""


QUICK = Effort(rounds=2, loads=1, scale=0.01, table=2_000, changed=100)
