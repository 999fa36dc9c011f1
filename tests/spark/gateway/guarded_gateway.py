"""A gateway in front of a guarded driver, and a decision service that allows each person a table of their own."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql.connect.session import SparkSession

from headgate.spark.sql.client import connect
from headgate.spark.toolchain.prepare import Toolchain
from tests.spark.gateway.concurrency.markers import TABLE, Owner
from tests.spark.gateway.gateway_harness import RunningGateway, running_gateway
from tests.spark.guard.driver_harness import ADMIN, DriverHarness, Need, world

PEOPLE = tuple(f"p{number}" for number in range(16))
LONERS = ("attacker", "victim", "leaver")
"""People that one test file each uses, so that another test file leaves no operations for them."""


@dataclass(frozen=True)
class Guarded:
    """The guarded driver with its decision service, and the gateway in front of it."""

    world: DriverHarness
    gateway: RunningGateway

    def connect(self, person: str) -> SparkSession:
        """Open a session of a person; the caller must stop it."""
        return connect(self.gateway.port, person)

    def allows(self, handle: str, need: Need) -> bool:
        """Return whether a session has a privilege.

        A session has every privilege in `raw`, and in `trusted` those on the table named after its person.
        """
        if handle == ADMIN:
            return True
        caller = self.gateway.sessions.caller(handle)
        match need.get("object"):
            case ["lake", "raw", *_] | ["lake", "trusted"] | ["lake"]:
                return caller is not None
            case ["lake", "trusted", name, *_]:
                return caller is not None and caller.principal == name
            case _:
                return False

    @contextmanager
    def revoked(self) -> Iterator[None]:
        """Deny everything until the block ends."""
        self.world.decisions.rule = lambda _handle, _need: False
        try:
            yield
        finally:
            self.world.decisions.rule = self.allows

    def fill(self, people: Sequence[str]) -> None:
        """Create the table of each person."""
        admin = self.world.session(ADMIN)
        for person in people:
            rows = f"SELECT '{Owner(person, TABLE).row_mark}' AS mark, id AS n FROM range(0, 10, 1, 1)"
            admin.sql(f"CREATE TABLE lake.trusted.{person} AS {rows}").collect()


@contextmanager
def guarded(toolchain: Toolchain, folder: Path) -> Iterator[Guarded]:
    """Serve until the block ends."""
    with world(toolchain, folder) as made, running_gateway(made.driver, *PEOPLE, *LONERS) as gateway:
        running = Guarded(made, gateway)
        made.decisions.rule = running.allows
        yield running
