"""The arithmetic: times with and without Headgate, what that adds, and whether an aim is met."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from bench.http_engines.figures import Aim

MS = 1000.0


@dataclass(frozen=True, slots=True)
class Pairs:
    """Seconds of the same work without Headgate and with it; the n-th of both were taken one after the other."""

    name: str
    without: Sequence[float]
    guarded: Sequence[float]

    @property
    def adds(self) -> float:
        """The seconds that Headgate adds: the median of the differences, so that a busy moment hits both sides alike."""
        return statistics.median(b - a for a, b in zip(self.without, self.guarded, strict=True))

    @property
    def share(self) -> float:
        """What it adds, as a part of the median without it."""
        return self.adds / statistics.median(self.without)


def p95(seconds: Sequence[float]) -> float:
    """Return what 95 of 100 took at most."""
    return sorted(seconds)[min(len(seconds) - 1, len(seconds) * 95 // 100)]


def whole(name: str, parts: Sequence[Pairs]) -> Pairs:
    """Return the rounds of several pieces of work as rounds of all of them. Every part has as many rounds."""
    without, guarded = ([sum(one) for one in zip(*sides, strict=True)] for sides in _sides(parts))
    return Pairs(name, without, guarded)


def _sides(parts: Sequence[Pairs]) -> tuple[list[Sequence[float]], list[Sequence[float]]]:
    return [each.without for each in parts], [each.guarded for each in parts]


def adds_at_most(pairs: Pairs, milliseconds: float) -> Aim:
    """Hold what is added to milliseconds."""
    added = pairs.adds * MS
    return Aim(f"{pairs.name}: adds at most {milliseconds:g} ms", f"{added:+.2f} ms", added <= milliseconds)


def share_at_most(pairs: Pairs, percent: float) -> Aim:
    """Hold what is added to a part of the time without it."""
    share = pairs.share * 100
    return Aim(f"{pairs.name}: adds at most {percent:g} %", f"{share:+.1f} %", share <= percent)


def rate_at_least(pairs: Pairs, percent: float) -> Aim:
    """Hold the rate to a part of the rate without it, by the medians."""
    rate = statistics.median(pairs.without) / statistics.median(pairs.guarded) * 100
    return Aim(f"{pairs.name}: at least {percent:g} % of the direct rate", f"{rate:.0f} %", rate >= percent)


def no_slower(before: Pairs, after: Pairs, tolerance: float) -> Aim:
    """Hold what Headgate takes afterwards to what it took before; `tolerance` is the part that counts as noise.

    What the same work without any catalog took before and after is divided out: that is the machine.
    """
    machine = statistics.median(after.without) / statistics.median(before.without)
    ratio = statistics.median(after.guarded) / statistics.median(before.guarded) / machine
    return Aim(f"{after.name}: no slower than before", f"x {ratio:.2f}", ratio <= 1 + tolerance)
