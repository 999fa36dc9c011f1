"""Prometheus metrics: requests, counted as they finish, and the core's figures, read at each scrape."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from headgate.endpoints.http.request_context import RequestContext

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


@dataclass(frozen=True, slots=True)
class Figures:
    """Counters of the core since its start, and its current state. `revisions` is by organization.

    `spark` has the figures that the gateway reported last: name -> label -> count.
    """

    allowed: int = 0
    denied: int = 0
    appends: int = 0
    conflicts: int = 0
    head_reads: int = 0
    audit_waiting: int = 0
    revisions: Mapping[str, int] = field(default_factory=dict[str, int])
    spark: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])
    task_deaths: Mapping[str, int] = field(default_factory=dict[str, int])
    tasks_stopped: Sequence[str] = ()


class Metrics:
    """The metrics of one process, in their own registry."""

    def __init__(self, figures: Callable[[], Figures] = Figures) -> None:
        """`figures` is called each time that the metrics are read."""
        self.registry = CollectorRegistry()
        self._requests = _Requests()
        self.observe = self._requests.observe
        for collector in (self._requests, _Core(figures), _Spark(figures)):
            self.registry.register(collector)
        ProcessCollector(registry=self.registry)

    def text(self) -> bytes:
        """Return everything in Prometheus' text format."""
        return generate_latest(self.registry)


class _Requests(Collector):
    """Counts requests in plain numbers, only in the event loop: the library's own counters take a lock at every step."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str, int], int] = {}
        self._times: dict[str, list[int]] = {}
        self._sums: dict[str, float] = {}

    def observe(self, exchange: RequestContext) -> None:
        """Count one response."""
        route = exchange.route
        key = (exchange.method, route, exchange.status)
        self._counts[key] = self._counts.get(key, 0) + 1
        times = self._times.get(route)
        if times is None:
            times = self._times[route] = [0] * (len(_SECONDS) + 1)
        times[bisect_left(_SECONDS, exchange.seconds)] += 1
        self._sums[route] = self._sums.get(route, 0.0) + exchange.seconds

    @override
    def collect(self) -> Iterable[Metric]:
        """Return the metrics of the counted requests."""
        requests = CounterMetricFamily("headgate_requests", "Requests answered.", labels=("method", "route", "status"))
        for (method, route, status), count in tuple(self._counts.items()):
            requests.add_metric((method, route, str(status)), count)
        seconds = HistogramMetricFamily(
            "headgate_request_seconds", "Durations of responses in seconds.", labels=("route",)
        )
        for route, times in tuple(self._times.items()):
            seconds.add_metric((route,), _cumulated(times), self._sums[route])
        return requests, seconds


def _cumulated(times: Sequence[int]) -> Sequence[tuple[str, float]]:
    names = (*(str(float(each)) for each in _SECONDS), "+Inf")
    return tuple(zip(names, accumulate(times), strict=True))


class _Spark(Collector):
    """The gateway's metrics. Its counters restart at 0 with each gateway process, as counters may."""

    def __init__(self, figures: Callable[[], Figures]) -> None:
        self._figures = figures

    @override
    def collect(self) -> Iterable[Metric]:
        spark = self._figures().spark
        calls = CounterMetricFamily("headgate_spark_calls", "Spark Connect calls finished.", labels=("call", "status"))
        for label, count in spark.get("calls", {}).items():
            calls.add_metric(label.split(" "), count)
        yield calls
        for figure, name, kind, means, label in _LABELLED:
            family = kind(f"headgate_spark_{name}", means, labels=(label,))
            for value, amount in spark.get(figure, {}).items():
                family.add_metric((value,), amount)
            yield family
        for name, kind, means in _SPARK:
            if name in spark:
                yield kind(f"headgate_spark_{name}", means, spark[name][""])


_LABELLED = (
    ("seconds", "call_seconds", CounterMetricFamily, "Total duration of Spark Connect calls in seconds.", "call"),
    ("driver_starts", "driver_starts", CounterMetricFamily, "Starts of a driver.", "driver"),
    ("driver_hangs", "driver_hangs", CounterMetricFamily, "Drivers ended because they did not respond.", "driver"),
    ("drivers", "drivers", GaugeMetricFamily, "Whether a driver serves requests (1 or 0).", "driver"),
    ("task_deaths", "task_deaths", CounterMetricFamily, "Failures of a background task of the gateway.", "task"),
)
"""Figure, metric, kind, meaning, label."""

_SPARK = (
    ("result_bytes", CounterMetricFamily, "Result bytes passed through the gateway."),
    ("cut", CounterMetricFamily, "Operations and streams ended because a privilege was revoked."),
    ("sessions", GaugeMetricFamily, "Sessions that the gateway has signed."),
    ("operations", GaugeMetricFamily, "Operations that are running."),
    ("gateway_starts", CounterMetricFamily, "Starts of the gateway process."),
)


class _Core(Collector):
    def __init__(self, figures: Callable[[], Figures]) -> None:
        self._figures = figures

    @override
    def collect(self) -> Iterable[Metric]:
        now = self._figures()
        decisions = CounterMetricFamily("headgate_decisions", "Decisions made.", labels=("answer",))
        decisions.add_metric(("allowed",), now.allowed)
        decisions.add_metric(("denied",), now.denied)
        revisions = GaugeMetricFamily(
            "headgate_revision", "The newest revision that the process has read.", labels=("organization",)
        )
        for organization, revision in now.revisions.items():
            revisions.add_metric((organization,), revision)
        deaths = CounterMetricFamily("headgate_task_deaths", "Failures of a background task.", labels=("task",))
        running = GaugeMetricFamily(
            "headgate_tasks", "Whether a background task is running (1 or 0).", labels=("task",)
        )
        for task, count in now.task_deaths.items():
            deaths.add_metric((task,), count)
            running.add_metric((task,), float(task not in now.tasks_stopped))
        return (
            decisions,
            revisions,
            deaths,
            running,
            CounterMetricFamily("headgate_appends", "Commands written to a log.", now.appends),
            CounterMetricFamily(
                "headgate_revision_conflicts", "Writes decided again after a conflict of revisions.", now.conflicts
            ),
            CounterMetricFamily("headgate_head_reads", "Reads of the newest revisions.", now.head_reads),
            GaugeMetricFamily(
                "headgate_organizations", "Organizations that the process has opened.", len(now.revisions)
            ),
            GaugeMetricFamily("headgate_audit_waiting", "Audit records not yet written.", now.audit_waiting),
        )
