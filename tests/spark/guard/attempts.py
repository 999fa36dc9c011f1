"""Statements that users attempt: one after the other, or concurrently, each user in a session and a scheduler pool of its own."""

import threading
from collections.abc import Callable, Mapping

from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession

from tests.spark.guard.driver_harness import REFUSED, DriverHarness

STRANGER = "hgs_stranger"
SHORT_TASKS = "SELECT count(*) FROM range(0, 2000000000, 1, 400) WHERE hash(id) = 1"
SOON = 10.0
"""Seconds within which another user's query is answered, whatever other users send."""


def open_as(lake: DriverHarness, handle: str) -> SparkSession:
    """Open a session as a separate user in a pool of its own, as the gateway does."""
    session = lake.session(handle, user=handle)
    session.conf.set("spark.scheduler.pool", handle)
    return session


def refusals(uses: Mapping[str, Callable[[], object]]) -> set[str]:
    """Return the names of the uses that are refused."""
    found: set[str] = set()
    for name, use in uses.items():
        try:
            use()
        except PySparkException as error:
            if error.getSqlState() == REFUSED:
                found.add(name)
    return found


class Attempt:
    """A statement that runs concurrently with the test. `state` is the SQLSTATE of its end."""

    def __init__(self, run: Callable[[], object]) -> None:
        self.state: str | None = None
        self.message = ""
        self._run = run
        self._thread = threading.Thread(target=self._attempt, daemon=True)
        self._thread.start()

    def _attempt(self) -> None:
        try:
            self._run()
        except PySparkException as error:
            self.state, self.message = error.getSqlState(), str(error)

    def wait(self, seconds: float) -> bool:
        """Return whether the statement has ended within that time."""
        self._thread.join(seconds)
        return not self._thread.is_alive()
