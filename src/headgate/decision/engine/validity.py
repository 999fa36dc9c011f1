"""How long what was worked out at a moment holds, as far as dates go."""

from math import inf

from headgate.facts.snapshot import Assignment, Principal


class ValidityWindow:
    """The time around a moment in which nothing that was noticed begins or ends: since <= now < until."""

    __slots__ = ("now", "since", "until")

    def __init__(self, now: float) -> None:
        self.now = now
        self.since = -inf
        self.until = inf

    def includes(self, now: float) -> bool:
        """Say whether the time is within."""
        return self.since <= now < self.until

    def covers(self, given: Assignment) -> bool:
        """Say whether the assignment is within its dates at the moment, and notice these."""
        if given.starts is None and given.ends is None:
            return True
        self._notice(given.starts)
        self._notice(given.ends)
        return given.holds_at(self.now)

    def exists(self, principal: Principal) -> bool:
        """Say whether the principal has not expired at the moment, and notice when it does."""
        self._notice(principal.ends)
        return principal.ends is None or self.now < principal.ends

    def narrow(self, other: "ValidityWindow") -> None:
        """Narrow it to what is in the other one too, which includes the moment."""
        self.since, self.until = max(self.since, other.since), min(self.until, other.until)

    def _notice(self, date: float | None) -> None:
        if date is not None and date <= self.now:
            self.since = max(self.since, date)
        elif date is not None:
            self.until = min(self.until, date)
