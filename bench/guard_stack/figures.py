"""Arithmetic of the figures: times with and without Headgate, their difference, and whether a target is met."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from bench.http_engines.figures import Aim

MS = 1000.0


@dataclass(frozen=True, slots=True)
class Pairs:
    """Seconds of the same work without Headgate and with it; the n-th values of both were measured one after the other."""

    name: str
    without: Sequence[float]
    guarded: Sequence[float]

    @property
    def adds(self) -> float:
        """The seconds that Headgate adds: the median of the differences, so that a busy moment affects both sides equally."""
        return statistics.median(b - a for a, b in zip(self.without, self.guarded, strict=True))

    @property
    def share(self) -> float:
        """The seconds that Headgate adds, as a fraction of the median without it."""
        return self.adds / statistics.median(self.without)


def p95(seconds: Sequence[float]) -> float:
    """Return the 95th percentile."""
    return sorted(seconds)[min(len(seconds) - 1, len(seconds) * 95 // 100)]


def whole(name: str, parts: Sequence[Pairs]) -> Pairs:
    """Return the sums of the rounds of several pieces of work. Each has the same number of rounds."""
    without, guarded = ([sum(one) for one in zip(*sides, strict=True)] for sides in _sides(parts))
    return Pairs(name, without, guarded)


def _sides(parts: Sequence[Pairs]) -> tuple[list[Sequence[float]], list[Sequence[float]]]:
    return [each.without for each in parts], [each.guarded for each in parts]


def adds_at_most(pairs: Pairs, milliseconds: float) -> Aim:
    """Return the target for the added time, in milliseconds."""
    added = pairs.adds * MS
    return Aim(f"{pairs.name}: adds at most {milliseconds:g} ms", f"{added:+.2f} ms", added <= milliseconds)


def share_at_most(pairs: Pairs, percent: float) -> Aim:
    """Return the target for the added time, in percent of the time without Headgate."""
    share = pairs.share * 100
    return Aim(f"{pairs.name}: adds at most {percent:g} %", f"{share:+.1f} %", share <= percent)


def rate_at_least(pairs: Pairs, percent: float) -> Aim:
    """Return the target for the rate, in percent of the rate without Headgate, by the medians."""
    rate = statistics.median(pairs.without) / statistics.median(pairs.guarded) * 100
    return Aim(f"{pairs.name}: at least {percent:g} % of the direct rate", f"{rate:.0f} %", rate >= percent)


def no_slower(before: Pairs, after: Pairs, tolerance: float) -> Aim:
    """Return the target that Headgate is no slower afterwards than before; `tolerance` is the fraction that counts as noise.

    The change of the same work without any catalog is divided out, because the machine causes it.
    """
    machine = statistics.median(after.without) / statistics.median(before.without)
    ratio = statistics.median(after.guarded) / statistics.median(before.guarded) / machine
    return Aim(f"{after.name}: no slower than before", f"x {ratio:.2f}", ratio <= 1 + tolerance)
