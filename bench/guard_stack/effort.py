"""The amount of measurements."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Effort:
    """Sizes of the measurements; each is an option of the command line."""

    rounds: int = 200
    """Rounds of a short statement."""
    scans: int = 10
    """Rounds of the large result, of the upload and of each query of TPC-H."""
    rows: int = 2_000_000
    """Rows of the large result, and of the upload."""
    tables: int = 10_000
    """Tables in the large catalog."""
    scale: float = 0.1
    """The scale factor of TPC-H."""
    first: int = 1
    """The number of the first query of TPC-H."""
    last: int = 22
    """The number of the last query of TPC-H."""

    @property
    def warm_rounds(self) -> int:
        """Warm-up rounds, which are not timed, so that Java has compiled the code."""
        return self.rounds // 2

    @property
    def warm_scans(self) -> int:
        """Warm-up rounds for scans."""
        return self.scans // 5


QUICK = Effort(rounds=4, scans=1, rows=20_000, tables=20, scale=0.01)
