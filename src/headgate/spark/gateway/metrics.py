"""Metrics of the gateway."""

from collections import Counter, defaultdict
from collections.abc import Mapping


class GatewayCounts:
    """Counters since the start of the gateway; they are plain numbers, because one event loop changes them."""

    def __init__(self) -> None:
        self._calls = Counter[str]()
        self._seconds = defaultdict[str, float](float)
        self.bytes = 0
        """Bytes of relayed results."""
        self.cut = 0
        """Operations and streams that were cancelled because a privilege was revoked."""

    def count_call(self, call: str, status: str, seconds: float) -> None:
        """Count one call."""
        self._calls[f"{call} {status}"] += 1
        self._seconds[call] += seconds

    def figures(self, sessions: int, operations: int, deaths: Mapping[str, int]) -> Mapping[str, Mapping[str, float]]:
        """Return all figures by name and label, with the current numbers of sessions and operations."""
        return {
            "calls": dict(self._calls),
            "seconds": dict(self._seconds),
            "result_bytes": {"": self.bytes},
            "cut": {"": self.cut},
            "sessions": {"": sessions},
            "operations": {"": operations},
            "task_deaths": dict(deaths),
        }
