"""The instants at which a fact begins or ends: between two of them, each decision on a snapshot stays the same."""

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from math import inf
from typing import Final, NamedTuple

from headgate.facts.changes import Change
from headgate.facts.snapshot import Snapshot

_AT_ONCE: Final = 5_000
"""The number of facts that one call reads: the first calls about a large snapshot stay short."""

_MOST_PAST: Final = 10_000
"""The number of past instants that are remembered, in case that the clock is set back."""


class Period(NamedTuple):
    """A time since <= now < until, in seconds since the epoch, at which no fact begins or ends."""

    since: float
    until: float

    def includes(self, now: float) -> bool:
        """Whether the time is in the period."""
        return self.since <= now < self.until


NO_PERIOD: Final = Period(inf, -inf)
"""The period that includes no time."""


class Instants:
    """The instants of a snapshot and of those after it. Some may be of facts that were changed or removed meanwhile.

    The snapshot is read bit by bit. The engines of all later snapshots share the object. The instants of changes are
    added when they are written: changes that are only considered, as in a dry run, add none.
    """

    def __init__(self, facts: Snapshot) -> None:
        self._unread: Iterator[float | None] | None = _list_times(facts)
        self._times: list[float] = []
        self._oldest = -inf
        """The first instant that is known; those before it were forgotten."""

    def add(self, changes: Iterable[Change]) -> None:
        """Add the instants of changes."""
        for each in _list_times_in(changes):
            insort(self._times, each)

    def period_at(self, now: float) -> Period:
        """Return the longest known period that includes a time; `NO_PERIOD` while the snapshot is not read."""
        if self._unread is not None and not self._has_read_all(self._unread):
            return NO_PERIOD
        times = self._times
        following = bisect_right(times, now)
        if following > _MOST_PAST:
            self._oldest = times[following - 1]
            del times[: following - 1]
            following = 1
        if now < self._oldest:
            return NO_PERIOD
        return Period(times[following - 1] if following else -inf, times[following] if following < len(times) else inf)

    def _has_read_all(self, unread: Iterator[float | None]) -> bool:
        """Read some more facts; return whether all are read."""
        part = list(islice(unread, _AT_ONCE))
        self._times.extend(each for each in part if each is not None)
        self._times.sort()
        if len(part) == _AT_ONCE:
            return False
        self._unread = None
        return True


def _list_times(facts: Snapshot) -> Iterator[float | None]:
    """Yield the times in a snapshot; None for each fact without one."""
    for held in facts.assignments.values():
        for assignment in held.values():
            yield assignment.starts
            yield assignment.ends
    for agreement in facts.agreements.values():
        yield agreement.starts
        yield agreement.ends
    yield from (each.ends for each in chain(facts.tokens.values(), facts.principals.values()))


def _list_times_in(changes: Iterable[Change]) -> Iterator[float]:
    for change in changes:
        for name in ("starts", "ends"):
            time = getattr(change, name, None)
            if time is not None:
                yield time
