"""The drivers: one for the home organization, and one for each other organization that is to have Spark."""

import asyncio
import logging
import threading
from collections.abc import Callable

from headgate.control.command import MissingError
from headgate.control.organization import Organization, Organizations
from headgate.facts.ids import ResourceId
from headgate.spark.driver import Driver, DriverError

log = logging.getLogger(__name__)

NO_SPARK = "this organization has no Spark here; HEADGATE_SPARK_ORGANIZATIONS says which have"
EVERY = "*"
"""Among the organizations with Spark: all of them."""


class Drivers:
    """Starts a driver when it is first asked for, and the home organization's at once."""

    def __init__(self, organizations: Organizations, home: Organization, others: tuple[str, ...]) -> None:
        """`others` are the names or ids of further organizations with a driver."""
        self._organizations = organizations
        self._home = home
        self._others = others
        self._lock = threading.Lock()
        self._drivers: dict[ResourceId, Driver] = {}
        self._make: Callable[[Organization], Driver] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starting = set[asyncio.Task[None]]()

    @property
    def home(self) -> Driver | None:
        """The home organization's driver, if it is begun."""
        return self._drivers.get(self._home.id)

    def key(self, organization: ResourceId) -> bytes:
        """Return the key of an organization's driver as it runs now; nothing if there is none."""
        driver = self._drivers.get(organization)
        return driver.key if driver else b""

    def serves(self, organization: Organization) -> bool:
        """Say whether the organization is to have Spark here."""
        return organization is self._home or any(self._means(named, organization) for named in self._others)

    def of(self, organization: Organization) -> tuple[Driver | None, str]:
        """Return an organization's driver, which may not serve yet, or why there will be none. Any thread may ask."""
        if not self.serves(organization):
            return None, NO_SPARK
        with self._lock:
            if organization.id not in self._drivers and self._make is not None and self._loop is not None:
                self._drivers[organization.id] = self._make(organization)
                self._loop.call_soon_threadsafe(self._start, organization.id)
        return self._drivers.get(organization.id), ""

    async def begin(self, make: Callable[[Organization], Driver]) -> None:
        """Start the home organization's driver. Raises `DriverError` if it does not serve."""
        driver = self._drivers[self._home.id] = make(self._home)
        await driver.start()
        self._make, self._loop = make, asyncio.get_running_loop()

    async def end(self) -> None:
        """Stop them all."""
        self._make = None
        for starting in tuple(self._starting):
            starting.cancel()
        await asyncio.gather(*(driver.stop() for driver in self._drivers.values()))

    def _start(self, organization: ResourceId) -> None:
        task = asyncio.create_task(self._started(organization))
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def _started(self, organization: ResourceId) -> None:
        try:
            await self._drivers[organization].start()
        except DriverError as error:
            log.error("the Spark driver of `%s` does not start: %s", organization, error)  # noqa: TRY400
            with self._lock:
                # Whoever asks next tries again.
                del self._drivers[organization]

    def _means(self, named: str, organization: Organization) -> bool:
        try:
            return named == EVERY or self._organizations.find(named) is organization
        except MissingError:
            return False
