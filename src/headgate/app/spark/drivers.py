"""The Spark drivers: one for each organization with Spark on each cluster that it uses; the home organization's first."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass

from headgate.control.kernel.errors import SuspendedError
from headgate.control.kernel.supervision import BackgroundTask, BackgroundTasks
from headgate.control.organizations.organization import Organization, Organizations
from headgate.control.pipelines.cluster_names import EMBEDDED
from headgate.facts.ids import ResourceId
from headgate.spark.driver.clusters import Cluster, Clusters
from headgate.spark.driver.driver import Driver, DriverError, DriverState
from headgate.spark.sql.statements import NO_DRIVER

log = logging.getLogger(__name__)

IDLE_CHECK_SECONDS = "*"
"""In the list of organizations with Spark: all organizations."""
_LOOK_SECONDS = 5.0
_AGAIN_SECONDS = 5.0
"""Seconds before a driver that failed to start is started again."""

Make = Callable[[Organization, Cluster], Driver]
"""Creates a driver without starting it."""


@dataclass(slots=True)
class _DriverSlot:
    """A driver, the time of its last use, and the time before which it is not started again (seconds of a monotonic clock)."""

    driver: Driver
    cluster: Cluster
    used: float
    rests: float = 0.0
    starting: bool = True


class Drivers:
    """Starts the home organization's embedded driver at once, and every other driver at its first use."""

    def __init__(
        self,
        organizations: Organizations,
        home: Organization,
        others: tuple[str, ...],
        clusters: Clusters,
        clock: Callable[[], float] = time.monotonic,
        tasks: BackgroundTasks | None = None,
    ) -> None:
        """`others` are the ids of further organizations with drivers.

        Names are not accepted: an owner chooses the name of an organization, and could choose one that is listed.
        """
        self._organizations = organizations
        self._home = home
        self._others = others
        self._clusters = clusters
        self._clock = clock
        self._lock = threading.Lock()
        self._held: dict[tuple[ResourceId, str], _DriverSlot] = {}
        self._make: Make | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._background = tasks or BackgroundTasks()
        self._idle: BackgroundTask | None = None
        self._tasks = set[asyncio.Task[None]]()

    @property
    def home(self) -> Driver | None:
        """The home organization's embedded driver; None before its first start."""
        held = self._held.get((self._home.id, EMBEDDED))
        return held.driver if held else None

    def list_all(self) -> tuple[Driver, ...]:
        """Return all drivers that were ever started."""
        return tuple(held.driver for held in tuple(self._held.values()))

    @property
    def figures(self) -> Mapping[str, Mapping[str, float]]:
        """The metrics of the drivers by their names: starts, kills of a stuck process, and whether it serves now (1 or 0)."""
        drivers = self.list_all()
        return {
            "driver_starts": {each.name: float(each.generation) for each in drivers},
            "driver_hangs": {each.name: float(each.hangs) for each in drivers},
            "drivers": {each.name: float(each.ready and each.is_answering) for each in drivers},
        }

    def key(self, organization: ResourceId, cluster: str) -> bytes:
        """Return the key of a running driver; empty if there is no driver."""
        held = self._held.get((organization, cluster))
        return held.driver.key if held else b""

    def name(self, organization: ResourceId, cluster: str) -> str:
        """Return the name of a driver; empty if there is no driver."""
        held = self._held.get((organization, cluster))
        return held.driver.name if held else ""

    def serves(self, organization: Organization) -> bool:
        """Whether the settings give the organization Spark on this server."""
        return organization is self._home or IDLE_CHECK_SECONDS in self._others or organization.id in self._others

    def list_served(self) -> Iterable[Organization]:
        """Return the organizations that have Spark on this server."""
        return (each for each in self._organizations.readable() if self.serves(each))

    def get(self, organization: Organization, cluster: str = EMBEDDED) -> tuple[Driver | None, str]:
        """Return the driver of an organization on a cluster, or the reason why there is none; start it if necessary.

        The driver may not serve yet. Thread-safe.
        """
        if not self.serves(organization):
            return None, NO_DRIVER
        if organization.control.snapshot.is_suspended:
            return None, str(SuspendedError())
        configured = self._clusters.find(cluster)
        if configured is None:
            return (
                None,
                f"this server has no cluster `{cluster}`; add it to the file of HEADGATE_CLUSTERS, or move the pipeline to another cluster",
            )
        place, now = (organization.id, cluster), self._clock()
        with self._lock:
            held = self._held.get(place)
            if held is None and self._make is not None:
                held = self._held[place] = _DriverSlot(self._make(organization, configured), configured, now)
                self._begin(self._start(held))
            elif held is not None:
                held.used = now
                if held.driver.state is DriverState.STOPPED and not held.starting and now >= held.rests:
                    held.starting = True
                    self._begin(self._start(held))
        return (held.driver if held else None), ""

    async def start_home(self, make: Make) -> None:
        """Start the home organization's embedded driver. Raises `DriverError` if it does not serve."""
        cluster = self._clusters.find(EMBEDDED) or Cluster(EMBEDDED)
        held = _DriverSlot(make(self._home, cluster), cluster, self._clock())
        self._held[self._home.id, EMBEDDED] = held
        await held.driver.start()
        held.starting = False
        self._make, self._loop = make, asyncio.get_running_loop()
        self._idle = self._background.start_task(
            "end of idle drivers", self._end_idle, "unused drivers keep their executors on shared clusters"
        )

    async def end(self) -> None:
        """Stop all drivers."""
        self._make = None
        if self._idle is not None:
            await self._idle.stop()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*(held.driver.stop() for held in self._held.values()))

    async def stop_idle(self) -> None:
        """Stop unused drivers; the next caller starts them again.

        Unused are drivers on remote clusters without a caller for `idle_seconds`, and drivers of suspended organizations. The
        home organization's embedded driver is never stopped: its state is the state of Spark in the health document.
        """
        for (root, cluster), held in tuple(self._held.items()):
            idle = self._clock() - held.used > held.cluster.idle_seconds
            suspended = (root, cluster) != (self._home.id, EMBEDDED) and self._is_suspended(root)
            if ((held.cluster.is_remote and idle) or suspended) and held.driver.ready:
                log.info("the Spark driver `%s` is unused and is stopped", held.driver.name)
                await held.driver.stop()

    def _is_suspended(self, root: ResourceId) -> bool:
        organization = self._organizations.if_open(root)
        return organization is not None and organization.control.snapshot.is_suspended

    async def _end_idle(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            await self.stop_idle()

    async def _start(self, held: _DriverSlot) -> None:
        try:
            await held.driver.start()
        except DriverError as error:
            log.error("the Spark driver `%s` failed to start: %s", held.driver.name, error)  # noqa: TRY400
            await held.driver.stop()
            held.rests = self._clock() + _AGAIN_SECONDS
        except Exception:
            log.exception("the Spark driver `%s` failed to start with an unexpected error", held.driver.name)
            await held.driver.stop()
            held.rests = self._clock() + _AGAIN_SECONDS
        finally:
            held.starting = False

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._run, work)

    def _run(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
