"""The report: a table of the figures, and the targets below it."""

import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.guard_stack.figures import MS, Pairs, p95
from bench.http_engines.figures import Aim


@dataclass(frozen=True, slots=True)
class Outcome:
    """The measurements of one part."""

    pairs: Sequence[Pairs]
    aims: Sequence[Aim]
    headings: tuple[str, str] = field(default=("without", "with Headgate"))
    """The names of the two sides."""


def table(title: str, outcome: Outcome) -> str:
    """Return a part's table: the median and the 95th percentile of each side, and the difference."""
    heads = "".join(f"{heading:>26}" for heading in outcome.headings)
    lines = [f"{title:40}{heads}{'adds':>12}{'':>9}", f"{'':40}" + f"{'median':>14}{'p95':>12}" * 2]
    return "\n".join((*lines, *map(_line, outcome.pairs)))


def summary(aims: Sequence[Aim]) -> str:
    """Return every target with its result, and the load of the machine."""
    busy = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    reached = [f"{each.text:84}{each.value:>12}  {'met' if each.met else 'MISSED'}" for each in aims]
    return "\n".join([*reached, "", f"{os.cpu_count()} processors; load of 1, 5 and 15 minutes: {busy}"])


def _line(pairs: Pairs) -> str:
    sides = "".join(_side(side) for side in (pairs.without, pairs.guarded))
    return f"{pairs.name:40}{sides}{pairs.adds * MS:>+9.2f} ms{pairs.share * 100:>+7.1f} %"


def _side(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds) * MS:>11.2f} ms{p95(seconds) * MS:>9.1f} ms"
