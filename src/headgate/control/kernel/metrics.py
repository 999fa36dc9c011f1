"""What the core of an organization has done since the process began, for those who watch it."""

from dataclasses import dataclass


@dataclass(slots=True)
class CommandCounts:
    """Added to without a lock, by whoever decides or writes: a figure may miss a few, and nothing rests on it."""

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
