"""How much is measured."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Effort:
    """Sizes of what is measured, each an option of the command line."""

    rounds: int = 200
    """Of a short statement."""
    scans: int = 10
    """Of the large result, of the upload and of each query of TPC-H."""
    rows: int = 2_000_000
    """Of the large result, and of the upload."""
    tables: int = 10_000
    """In the large catalog."""
    scale: float = 0.1
    """The scale factor of TPC-H."""
    first: int = 1
    """The number of the first query of TPC-H."""
    last: int = 22
    """The number of the last one."""

    @property
    def warm_rounds(self) -> int:
        """Rounds that go before, untimed, until Java has compiled what is asked."""
        return self.rounds // 2

    @property
    def warm_scans(self) -> int:
        """The same for scans."""
        return self.scans // 5


QUICK = Effort(rounds=4, scans=1, rows=20_000, tables=20, scale=0.01)
