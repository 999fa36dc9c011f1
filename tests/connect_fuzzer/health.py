"""The health of a server's processes: its metrics, and the processor time of its driver."""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

import httpx

from tests.app.server_process import Serving

FIGURES: Final[Mapping[str, Sequence[str]]] = {
    "driver_starts": ("headgate_spark_driver_starts_total",),
    "driver_hangs": ("headgate_spark_driver_hangs_total",),
    "gateway_starts": ("headgate_spark_gateway_starts_total",),
    "task_deaths": ("headgate_spark_task_deaths_total", "headgate_task_deaths_total"),
}
"""Figures that grow only when a process or task has ended or hung, each with the metrics that it sums up."""
_STARTS: Final = frozenset(("driver_starts", "gateway_starts"))
"""The figures that are above 0 from the beginning."""
_OUTAGES: Final = frozenset(("driver_starts", "driver_hangs", "gateway_starts"))
"""The figures that grow when Spark was unavailable to all users."""
_OPERATIONS: Final = "headgate_spark_operations"
_IDLE_SHARE: Final = 0.5
"""The share of one processor that a driver without operations may use."""
_TICKS: Final = 100
"""Ticks per second in `/proc`."""


class Running(Protocol):
    """A server with the properties that the fuzzer checks."""

    def metrics(self) -> str:
        """Return its metrics as text."""
        ...

    def is_ready(self) -> bool:
        """Return whether Spark is ready."""
        ...

    def until_ready(self) -> None:
        """Wait until Spark is ready."""
        ...

    def processor_seconds(self) -> float:
        """Return the processor seconds that its driver has used."""
        ...


class RunningServer:
    """A server in a process of its own."""

    def __init__(self, server: Serving) -> None:
        self._server = server

    def metrics(self) -> str:
        """Return its metrics as text."""
        return httpx.get(f"{self._server.url}/metrics", trust_env=False).text

    def is_ready(self) -> bool:
        """Return whether Spark is ready."""
        return bool(self._server.health()["spark"] == "ready")

    def until_ready(self) -> None:
        """Wait until Spark is ready."""
        self._server.until_ready()

    def processor_seconds(self) -> float:
        """Return the processor seconds that its driver has used."""
        return processor_seconds(self._server.jvm())


class Health:
    """Detects processes and tasks that have ended or hung since the last check, and records the outages of Spark."""

    def __init__(self, server: Running) -> None:
        """Fail unless the server has all required metrics, because a missing metric would never grow."""
        self._server = server
        metrics = dict(_metrics(server.metrics()))
        wanted = {name for names in FIGURES.values() for name in names} | {_OPERATIONS}
        missing = sorted(wanted - metrics.keys())
        assert not missing, f"metrics that the fuzzer needs are missing: {missing}"
        self._well = time.monotonic()
        self._figures = self.figures()
        assert all(self._figures[each] for each in _STARTS), (
            f"by its metrics, the server has started nothing: {self._figures}"
        )
        self._outages: list[tuple[float, float]] = []

    def figures(self) -> Mapping[str, float]:
        """Return the current figures."""
        said = list(_metrics(self._server.metrics()))
        return {figure: sum(value for name, value in said if name in names) for figure, names in FIGURES.items()}

    def look(self) -> Sequence[str]:
        """Return the figures that have grown since the last check.

        If Spark was unavailable, wait until it is ready again.
        """
        looked, figures = time.monotonic(), self.figures()
        risen = [name for name in FIGURES if figures[name] > self._figures[name]]
        self._figures = figures
        if not _OUTAGES.isdisjoint(risen):
            self._server.until_ready()
            self._outages.append((self._well, time.monotonic()))
        elif self._server.is_ready():
            self._well = looked
        return risen

    def had_outage(self, began: float, ended: float) -> bool:
        """Return whether Spark was unavailable at some time between `began` and `ended`."""
        return any(began < end and begin < ended for begin, end in self._outages)

    def until_idle(self, within: float, measured: float) -> str:
        """Wait until the driver is idle. Return a report of the running work after `within` seconds, or an empty text.

        The driver's use of processors is measured during `measured` seconds.
        """
        deadline = time.monotonic() + within
        while True:
            running = sum(value for name, value in _metrics(self._server.metrics()) if name == _OPERATIONS)
            share = 0.0 if running else self._share(measured)
            if not running and share < _IDLE_SHARE:
                return ""
            if time.monotonic() >= deadline:
                return f"{running:g} operations are under way, and the driver uses {share:.1f} processors"
            time.sleep(measured)

    def _share(self, seconds: float) -> float:
        before = self._server.processor_seconds()
        time.sleep(seconds)
        return (self._server.processor_seconds() - before) / seconds


def _metrics(text: str) -> Iterator[tuple[str, float]]:
    """Yield the metrics of a server, without labels."""
    for each in text.splitlines():
        if not each.startswith("#"):
            name, _, value = each.rpartition(" ")
            yield name.partition("{")[0], float(value)


def processor_seconds(pid: int) -> float:
    """Return the processor seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
