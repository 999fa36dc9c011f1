"""The report: a table of the figures, with the targets of Headgate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import quantiles

from .asking import Loaded
from .organization import Sizes

MEASURED: Mapping[str, str] = {
    "table": "check on a table",
    "newcomer": "the same, of a new user",
    "pipeline": "check on a pipeline",
    "readable": "all tables a user can read",
    "readers": "all users who can read a table",
    "revoke": "revoke, then a fresh check",
}
"""All measurements, in their order, with their titles in the table."""

_MICROSECONDS = 1_000
TARGETS: Mapping[str, Mapping[str, int]] = {
    "usual": {
        "table": 2 * _MICROSECONDS,
        "pipeline": 5 * _MICROSECONDS,
        "readable": 400 * _MICROSECONDS,
        "readers": 200 * _MICROSECONDS,
        "revoke": 50 * _MICROSECONDS,
    },
    "10 x data": {"table": 4 * _MICROSECONDS, "pipeline": 10 * _MICROSECONDS},
    "50 x people": {"table": 4 * _MICROSECONDS, "pipeline": 10 * _MICROSECONDS},
}
"""The targets of Headgate: the highest median, in nanoseconds."""

OURS = "headgate"


@dataclass(slots=True)
class Figures:
    """The measurements of one engine: loading, and the nanoseconds of each call."""

    loaded: Loaded
    taken: dict[str, list[int]]


def table(variant: str, sizes: Sizes, engines: Mapping[str, Figures]) -> str:
    """Return the table of one variant, with the 50th and 95th percentile."""
    lines = [
        f"{variant}: {_counts(sizes)}",
        _line("", "", [*engines, "  target"]),
        _line("load", "", [_time(int(each.loaded.seconds * 1e9)) for each in engines.values()]),
        _line("memory", "", [f"{each.loaded.memory / 1e6:,.0f} MB" for each in engines.values()]),
    ]
    for measured, title in MEASURED.items():
        halves = [_quantile(each.taken[measured], 50) for each in engines.values()]
        ours = _quantile(engines[OURS].taken[measured], 50) if OURS in engines else None
        target = TARGETS[variant].get(measured)
        lines += [
            _line(title, "p50", [*map(_time, halves), _verdict(ours, target)]),
            _line("", "p95", [_time(_quantile(each.taken[measured], 95)) for each in engines.values()]),
            _line("", "times ours", [_ratio(half, ours) for half in halves]),
        ]
    return "\n".join(lines)


def _counts(sizes: Sizes) -> str:
    named = ("users", "groups", "layers", "tables", "pipelines", "grants")
    return ", ".join(f"{getattr(sizes, name):,} {name}" for name in named)


def _line(title: str, what: str, cells: Sequence[str]) -> str:
    return f"{title:31}{what:11}{''.join(f'{cell:>13}' for cell in cells)}".rstrip()


def _quantile(taken: Sequence[int], percent: int) -> int | None:
    if not taken:
        return None
    return round(quantiles(taken, n=100, method="inclusive")[percent - 1]) if len(taken) > 1 else taken[0]


def _time(nanoseconds: int | None) -> str:
    """Return a time with at most three digits, in a suitable unit."""
    if nanoseconds is None:
        return "-"
    for unit, size in (("s", 10**9), ("ms", 10**6)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds / 1_000:.3g} µs"


def _ratio(half: int | None, ours: int | None) -> str:
    return "-" if half is None or ours is None else f"{half / ours:,.1f}"


def _verdict(ours: int | None, target: int | None) -> str:
    if target is None:
        return ""
    return f"  {_time(target)}{'' if ours is None else ' met' if ours <= target else ' MISSED'}"
