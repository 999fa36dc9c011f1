"""Metrics: counts of decisions and log writes of an organization since the process began."""

from dataclasses import dataclass


@dataclass(slots=True)
class CommandCounts:
    """Counters without a lock, changed by several threads: a count may be slightly low, and no decision depends on it."""

    allowed: int = 0
    denied: int = 0
    appends: int = 0
    conflicts: int = 0

    def count_decision(self, *, allowed: bool) -> None:
        """Count one decision."""
        if allowed:
            self.allowed += 1
        else:
            self.denied += 1
