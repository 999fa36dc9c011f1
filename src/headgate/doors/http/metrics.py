"""What Prometheus is told: requests as they end, and the core's figures when they are read."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from headgate.doors.http.exchange import Exchange

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


@dataclass(frozen=True, slots=True)
class Figures:
    """What the core has counted since it began, and how it stands now. `revisions` is by organization."""

    allowed: int = 0
    denied: int = 0
    appends: int = 0
    conflicts: int = 0
    head_reads: int = 0
    audit_waiting: int = 0
    revisions: Mapping[str, int] = field(default_factory=dict[str, int])


class Metrics:
    """One process's metrics, in a registry of their own."""

    def __init__(self, figures: Callable[[], Figures] = Figures) -> None:
        """`figures` is asked each time that the metrics are read."""
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "headgate_requests", "Requests answered.", ("method", "route", "status"), registry=self.registry
        )
        self._seconds = Histogram(
            "headgate_request_seconds",
            "How long answers took.",
            ("route",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        # Looking up a child by its labels costs more than counting, so the children are kept.
        self._counted: dict[tuple[str, str, int], Counter] = {}
        self._timed: dict[str, Histogram] = {}
        self.registry.register(_Core(figures))
        ProcessCollector(registry=self.registry)

    def observe(self, exchange: Exchange) -> None:
        """Count one answer."""
        key = (exchange.method, exchange.route, exchange.status)
        counted = self._counted.get(key)
        if counted is None:
            counted = self._counted[key] = self._requests.labels(_method(exchange.method), key[1], key[2])
        timed = self._timed.get(exchange.route)
        if timed is None:
            timed = self._timed[exchange.route] = self._seconds.labels(exchange.route)
        counted.inc()
        timed.observe(exchange.seconds)

    def text(self) -> bytes:
        """Return everything in Prometheus' text format."""
        return generate_latest(self.registry)


class _Core(Collector):
    def __init__(self, figures: Callable[[], Figures]) -> None:
        self._figures = figures

    def collect(self) -> Iterable[Metric]:
        now = self._figures()
        decisions = CounterMetricFamily("headgate_decisions", "Decisions taken.", labels=("answer",))
        decisions.add_metric(("allowed",), now.allowed)
        decisions.add_metric(("denied",), now.denied)
        revisions = GaugeMetricFamily("headgate_revision", "The newest revision known here.", labels=("organization",))
        for organization, revision in now.revisions.items():
            revisions.add_metric((organization,), revision)
        return (
            decisions,
            revisions,
            CounterMetricFamily("headgate_appends", "Commands written to a log.", now.appends),
            CounterMetricFamily("headgate_revision_conflicts", "Writes that were decided again.", now.conflicts),
            CounterMetricFamily("headgate_head_reads", "Reads of the newest revisions.", now.head_reads),
            GaugeMetricFamily("headgate_organizations", "Organizations known here.", len(now.revisions)),
            GaugeMetricFamily("headgate_audit_waiting", "Records of the audit not yet written.", now.audit_waiting),
        )


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def _method(method: str) -> str:
    return method if method in _METHODS else "other"
