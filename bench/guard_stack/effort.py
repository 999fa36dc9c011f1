"""How much is measured."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Effort:
    """Sizes of what is measured, each an option of the command line."""

    rounds: int = 200
    """Of a short statement. Half as many go before them, untimed, until Java has compiled what is asked."""
    scans: int = 10
    """Rounds of the large result and of TPC-H; two go before them."""
    rows: int = 2_000_000
    """Of the large result."""
    tables: int = 10_000
    """In the large catalog."""
    scale: float = 0.1
    """The scale factor of TPC-H."""


QUICK = Effort(rounds=4, scans=1, rows=20_000, tables=20, scale=0.01)
WARM_SCANS = 2
