"""The figures, and the targets of Headgate."""

from collections.abc import Mapping
from dataclasses import dataclass

from bench.http_engines.load import Taken
from bench.http_engines.serving import BATCH

OURS = "headgate"
ON_POSTGRES = "headgate-pg"


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table: the kind of its cases, the number of checks in each, and the number of clients."""

    kind: str
    clients: int
    checks: int = 1

    @property
    def title(self) -> str:
        """The title in the table."""
        return f"{_TITLES[self.kind]}, {self.clients} client{'s' * (self.clients > 1)}"


_TITLES = {
    "table": "check on a table",
    "pipeline": "check on a pipeline",
    "batch": f"{BATCH} checks in a batch",
    "revoke": "revoke, then a fresh check",
    "grant": "grants",
}

CLIENTS = (1, 16, 64)
READS = tuple(
    Figure(kind, clients, BATCH if kind == "batch" else 1)
    for kind in ("table", "pipeline", "batch")
    for clients in CLIENTS
)
WRITES = (Figure("revoke", 1), Figure("grant", 1), Figure("grant", 16))


@dataclass(frozen=True, slots=True)
class Measured:
    """The result of one server: evaluations (or writes) per second, and the nanoseconds of a request."""

    rate: float
    p50: float
    p99: float


def measured(figure: Figure, rounds: list[Taken]) -> Measured | None:
    """Return the result of some rounds; None if the server does not support the operation."""
    times = sorted(each for taken in rounds for each in taken.each)
    if not times:
        return None
    rates = sorted(len(taken.each) * figure.checks / taken.seconds for taken in rounds)
    return Measured(rates[len(rates) // 2], times[len(times) // 2], times[min(len(times) - 1, len(times) * 99 // 100)])


@dataclass(frozen=True, slots=True)
class Aim:
    """A target, its result, and whether it is met."""

    text: str
    value: str
    met: bool


Results = Mapping[str, Mapping[Figure, Measured | None]]


def aims(results: Results) -> list[Aim]:
    """Return the targets whose figures were all measured."""
    found = [
        _times(results, "single checks, 16 clients: OPA's throughput", Figure("table", 16), "opa", 1.3),
        _slower(results, "single checks, 1 client: OPA's p50 at most", Figure("table", 1), "opa"),
        _times(results, "single checks, 16 clients: OpenFGA's throughput", Figure("table", 16), "openfga", 20),
        _times(results, "pipeline checks, 16 clients: OPA's throughput", Figure("pipeline", 16), "opa", 1.5),
        _times(
            results,
            "single checks on PostgreSQL, 16 clients: OPA's throughput",
            Figure("table", 16),
            "opa",
            0.6,
            ON_POSTGRES,
        ),
        _at_least(results, f"batches of {BATCH}, 16 clients: checks per second", Figure("batch", 16, BATCH), 100_000),
        _within(results, OURS, 2.0),
        _within(results, ON_POSTGRES, 4.0),
        _at_least(results, "durable grants per second, 1 client", Figure("grant", 1), 500),
        _at_least(results, "durable grants per second, 16 clients", Figure("grant", 16), 2_000),
    ]
    return [each for each in found if each is not None]


def _times(results: Results, text: str, figure: Figure, other: str, wanted: float, own: str = OURS) -> Aim | None:
    ours, theirs = _of(results, own, figure), _of(results, other, figure)
    if ours is None or theirs is None:
        return None
    ratio = ours.rate / theirs.rate
    return Aim(f"{text} x {wanted:g}", f"x {ratio:.2f}", ratio >= wanted)


def _slower(results: Results, text: str, figure: Figure, other: str) -> Aim | None:
    ours, theirs = _of(results, OURS, figure), _of(results, other, figure)
    if ours is None or theirs is None:
        return None
    ratio = ours.p50 / theirs.p50
    return Aim(text, f"x {ratio:.2f}", ratio <= 1)


def _at_least(results: Results, text: str, figure: Figure, wanted: float) -> Aim | None:
    ours = _of(results, OURS, figure)
    return None if ours is None else Aim(f"{text} at least {wanted:,}", f"{ours.rate:,.0f}", ours.rate >= wanted)


def _within(results: Results, name: str, milliseconds: float) -> Aim | None:
    ours = _of(results, name, Figure("revoke", 1))
    if ours is None:
        return None
    taken = ours.p50 / 1e6
    return Aim(
        f"{name}: durable revoke and fresh check at most {milliseconds:g} ms", f"{taken:.2f} ms", taken <= milliseconds
    )


def _of(results: Results, name: str, figure: Figure) -> Measured | None:
    return results.get(name, {}).get(figure)
