"""Whether a server's processes go on: what it says of them in its metrics, and what its driver uses."""

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
"""Figures that only go up when something has ended or hung, each with the metrics that it is the sum of."""
_STARTS: Final = frozenset(("driver_starts", "gateway_starts"))
"""Those that are above 0 from the beginning."""
_OUTAGES: Final = frozenset(("driver_starts", "driver_hangs", "gateway_starts"))
"""Those that go up when Spark was away for all users."""
_OPERATIONS: Final = "headgate_spark_operations"
_IDLE_SHARE: Final = 0.5
"""The share of one processor that a driver without statements may use."""
_TICKS: Final = 100
"""Of a second, in `/proc`."""


class Running(Protocol):
    """A server, as the fuzzer looks at it."""

    def metrics(self) -> str:
        """Return its metrics as text."""
        ...

    def is_ready(self) -> bool:
        """Return whether Spark can be used now."""
        ...

    def until_ready(self) -> None:
        """Wait until Spark can be used."""
        ...

    def processor_seconds(self) -> float:
        """Return how much of processors its driver has used."""
        ...


class RunningServer:
    """A server in a process of its own."""

    def __init__(self, server: Serving) -> None:
        self._server = server

    def metrics(self) -> str:
        """Return its metrics as text."""
        return httpx.get(f"{self._server.url}/metrics", trust_env=False).text

    def is_ready(self) -> bool:
        """Return whether Spark can be used now."""
        return bool(self._server.health()["spark"] == "ready")

    def until_ready(self) -> None:
        """Wait until Spark can be used."""
        self._server.until_ready()

    def processor_seconds(self) -> float:
        """Return how much of processors its driver has used."""
        return processor_seconds(self._server.jvm())


class Health:
    """Notices what has ended or hung since the last look, and remembers when Spark was away."""

    def __init__(self, server: Running) -> None:
        """Fails unless the server says everything that is looked at: what it does not say would never go up."""
        self._server = server
        metrics = dict(_metrics(server.metrics()))
        wanted = {name for names in FIGURES.values() for name in names} | {_OPERATIONS}
        missing = sorted(wanted - metrics.keys())
        assert not missing, f"the metrics that the fuzzer looks at are not there: {missing}"
        self._well = time.monotonic()
        self._figures = self.figures()
        assert all(self._figures[each] for each in _STARTS), f"nothing was started, says the server: {self._figures}"
        self._outages: list[tuple[float, float]] = []

    def figures(self) -> Mapping[str, float]:
        """Return the figures as they are now."""
        said = list(_metrics(self._server.metrics()))
        return {figure: sum(value for name, value in said if name in names) for figure, names in FIGURES.items()}

    def look(self) -> Sequence[str]:
        """Return the figures that have gone up since the last look. If Spark was away, wait until it is there again."""
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
        """Return whether Spark was away at some time between the two."""
        return any(began < end and begin < ended for begin, end in self._outages)

    def until_idle(self, within: float, measured: float) -> str:
        """Wait until nothing runs in the driver. Return what still does after `within` seconds, or nothing.

        The driver's share of a processor is measured for `measured` seconds.
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
    """Yield what a server counts, without the labels."""
    for each in text.splitlines():
        if not each.startswith("#"):
            name, _, value = each.rpartition(" ")
            yield name.partition("{")[0], float(value)


def processor_seconds(pid: int) -> float:
    """Return how much of processors a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
