"""Validity of cached results: the span of time in which no date that they depend on is passed."""

from math import inf

from headgate.facts.snapshot import Assignment, Principal


class ValidityWindow:
    """The span of time around a moment in which no noticed date is passed: since <= now < until."""

    __slots__ = ("now", "since", "until")

    def __init__(self, now: float) -> None:
        self.now = now
        self.since = -inf
        self.until = inf

    def includes(self, now: float) -> bool:
        """Whether the time is within the span."""
        return self.since <= now < self.until

    def covers(self, given: Assignment) -> bool:
        """Whether the moment is within the assignment's dates; narrow the span by these dates."""
        if given.starts is None and given.ends is None:
            return True
        self._notice(given.starts)
        self._notice(given.ends)
        return given.holds_at(self.now)

    def exists(self, principal: Principal) -> bool:
        """Whether the principal has not expired at the moment; narrow the span by its end."""
        self._notice(principal.ends)
        return principal.ends is None or self.now < principal.ends

    def narrow(self, other: "ValidityWindow") -> None:
        """Narrow the span to its intersection with another one, which includes the moment."""
        self.since, self.until = max(self.since, other.since), min(self.until, other.until)

    def _notice(self, date: float | None) -> None:
        if date is not None and date <= self.now:
            self.since = max(self.since, date)
        elif date is not None:
            self.until = min(self.until, date)
