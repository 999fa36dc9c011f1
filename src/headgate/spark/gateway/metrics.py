"""What the gateway counts, for whoever watches it."""

from collections import Counter, defaultdict
from collections.abc import Mapping


class GatewayCounts:
    """Counts since the gateway began, in plain numbers of its one event loop."""

    def __init__(self) -> None:
        self._calls = Counter[str]()
        self._seconds = defaultdict[str, float](float)
        self.bytes = 0
        """Of results, that went through."""
        self.cut = 0
        """Operations and streams that were ended because a right went."""

    def count_call(self, call: str, status: str, seconds: float) -> None:
        """Count one call."""
        self._calls[f"{call} {status}"] += 1
        self._seconds[call] += seconds

    def figures(self, sessions: int, operations: int, deaths: Mapping[str, int]) -> Mapping[str, Mapping[str, float]]:
        """Return everything by name and label, with what is there now."""
        return {
            "calls": dict(self._calls),
            "seconds": dict(self._seconds),
            "result_bytes": {"": self.bytes},
            "cut": {"": self.cut},
            "sessions": {"": sessions},
            "operations": {"": operations},
            "task_deaths": dict(deaths),
        }
