"""Store of statements over HTTP: they run here, and their rows are kept to be fetched. Each belongs to one credential."""

import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Literal

import pyarrow as pa

from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId
from headgate.spark.authority import PresentedCredential
from headgate.spark.sql.statements import (
    TOO_MANY,
    Column,
    Execution,
    SqlLimits,
    StatementError,
    StatementProgress,
    StatementRequest,
    StatementRunner,
)
from headgate.untrusted_input.fair_queue import FairQueue

log = logging.getLogger(__name__)

State = Literal["running", "succeeded", "failed", "cancelled"]

_BUSY_PRINCIPALS = 16
"""The number of principals that can run all their statements at once without delaying another principal.

A running statement takes a thread, and at times a second one that closes it. Threads start when they are needed.
"""

_PAGES, _PAGES_PER_PRINCIPAL = 64, 4
"""The limits of pages of rows in memory, from before they are built until their clients have read them."""
_MAKING, _MAKING_PER_PRINCIPAL = 2, 1
"""The limits of pages that are built at once: Python runs only one thread of this work at a time."""
_WAITING, _WAITING_PER_PRINCIPAL = 1024, 64
"""The limits of pages that wait or are in memory."""

CANCELLED_BY = "its caller cancelled it"


def _pages_busy() -> Exception:
    return StatementError(
        "too many pages of results are being read at once; finish reading the pages that you have requested, or retry in a few seconds",
        None,
        TOO_MANY,
    )


class CountedReading:
    """An `Execution` that counts towards the limit of its principal until it is closed."""

    def __init__(self, reading: Execution, principal: PrincipalId, closed: "Callable[[CountedReading], None]") -> None:
        self.principal = principal
        self._reading = reading
        self._closed = closed

    @property
    def progress(self) -> StatementProgress:
        """The progress of the statement."""
        return self._reading.progress

    @property
    def more(self) -> bool:
        """Whether there are more rows than the limit; known after all rows are read."""
        return self._reading.more

    def open(self) -> tuple[tuple[Column, ...], pa.Schema]:
        """Run the statement until its first rows arrive. Raises `StatementError`."""
        return self._reading.open()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows as Spark computes them. Raises `StatementError`."""
        return self._reading.batches()

    def decide_again(self, caller: Caller) -> None:
        """Raise `StatementError` unless the caller may still read the rows that were read."""
        self._reading.decide_again(caller)

    def cancel(self, why: str) -> None:
        """Cancel the statement."""
        self._reading.cancel(why)

    def close(self) -> None:
        """Release the statement, and then its place in the limit of its principal."""
        try:
            self._reading.close()
        finally:
            self._closed(self)


class StoredStatement:
    """A running statement, and later its rows or its `error`."""

    def __init__(self, credential: PresentedCredential, reading: CountedReading, now: float) -> None:
        self.id = f"s_{secrets.token_urlsafe(16)}"
        self.credential = credential
        self.reading = reading
        self.used = now
        self.columns: tuple[Column, ...] = ()
        self.rows: pa.Table | None = None
        self.more = False
        self.error: StatementError | None = None
        self.waiting = 0
        """The number of requests that wait for its end."""
        self.ended: Future[None] = Future()
        self.ended.set_running_or_notify_cancel()  # a request that stops waiting must not cancel the statement

    @property
    def state(self) -> State:
        """The state of the statement."""
        if not self.ended.done():
            return "running"
        if self.error is None:
            return "succeeded"
        return "cancelled" if self.error.condition == "CANCELLED" else "failed"

    @property
    def progress(self) -> StatementProgress:
        """The progress that Spark reports."""
        return self.reading.progress

    def cancel(self, why: str = CANCELLED_BY) -> None:
        """Cancel the statement."""
        self.reading.cancel(why)

    def decide_again(self, caller: Caller) -> None:
        """Raise `StatementError` unless the caller may read its rows now, if it has rows yet.

        A result without columns reveals nothing, and the privileges for a `DROP` cannot be checked after it.
        """
        if self.rows is not None and self.columns:
            self.reading.decide_again(caller)

    def run(self) -> None:
        """Run the statement and store its rows, up to the limit, or its error; runs in its own thread."""
        try:
            self.columns, schema = self.reading.open()
            rows = pa.Table.from_batches(list(self.reading.batches()), schema)
            # One contiguous chunk: a page of many small batches would take long to build.
            self.rows = rows.combine_chunks()
            self.more = self.reading.more
        except StatementError as error:
            self.error = error
        except Exception:
            log.exception("the statement %s failed", self.id)
            self.error = StatementError(
                "the statement failed in the server; ask the operator to read the server's log", None, None
            )
        finally:
            self.reading.close()
            self.ended.set_result(None)


class StatementStore:
    """Runs and stores statements; each is accessible only with the credential that started it. Thread-safe."""

    def __init__(self, spark: StatementRunner, limits: SqlLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits
        self._spark = spark
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: dict[str, StoredStatement] = {}
        self._under_way = set[CountedReading]()
        self._workers = ThreadPoolExecutor(_BUSY_PRINCIPALS * limits.at_once, thread_name_prefix="headgate-sql")
        self.pages = FairQueue(_PAGES, _PAGES_PER_PRINCIPAL, _WAITING_PER_PRINCIPAL, _WAITING, _pages_busy)
        """Held while a page of rows is in memory."""
        self.making = FairQueue(_MAKING, _MAKING_PER_PRINCIPAL, _WAITING_PER_PRINCIPAL, _WAITING, _pages_busy)
        """Held while a page of rows is built."""

    @property
    def workers(self) -> ThreadPoolExecutor:
        """The threads in which statements run."""
        return self._workers

    def begin(
        self, credential: PresentedCredential, principal: PrincipalId, wanted: StatementRequest
    ) -> CountedReading:
        """Return a statement that is not stored; the calling code reads and closes it.

        Raises `StatementError` if the principal has reached the limit of statements.
        """
        with self._lock:
            return self._begin(credential, principal, wanted)

    def start(
        self, credential: PresentedCredential, principal: PrincipalId, wanted: StatementRequest
    ) -> StoredStatement:
        """Run a statement and store its rows. Raises `StatementError` if the principal has reached the limit of statements."""
        with self._lock:
            kept = StoredStatement(credential, self._begin(credential, principal, wanted), self._clock())
            self._kept[kept.id] = kept
        self._workers.submit(kept.run)
        return kept

    def find(self, credential: PresentedCredential, id: str) -> StoredStatement | None:
        """Return a statement of this credential and record a use; None if there is none."""
        with self._lock:
            self._expire()
            kept = self._kept.get(id)
            if kept is None or kept.credential != credential:
                return None
            kept.used = self._clock()
            return kept

    def drop(self, kept: StoredStatement, why: str = CANCELLED_BY) -> None:
        """Cancel a statement and delete its rows."""
        with self._lock:
            self._kept.pop(kept.id, None)
        kept.cancel(why)

    def close(self) -> None:
        """Cancel all statements, and end the sessions and threads."""
        with self._lock:
            kept = tuple(self._kept.values())
            self._kept.clear()
        for each in kept:
            each.cancel("the server is shutting down")
        self._spark.close()
        self._workers.shutdown(wait=False, cancel_futures=True)

    def _begin(
        self, credential: PresentedCredential, principal: PrincipalId, wanted: StatementRequest
    ) -> CountedReading:
        """Begin a statement. Raises `StatementError` if its principal has reached the limit of statements."""
        self._expire()
        # A statement that was dropped counts until its thread has closed it.
        readings = self._under_way | {each.reading for each in self._kept.values()}
        if sum(1 for each in readings if each.principal == principal) >= self.limits.at_once:
            text = (
                f"you have {self.limits.at_once} running or stored statements, as many as one principal may have; "
                "delete one of them, or wait until one expires"
            )
            raise StatementError(text, None, TOO_MANY)
        reading = CountedReading(self._spark.begin(credential, wanted), principal, self._closed)
        self._under_way.add(reading)
        return reading

    def _closed(self, reading: CountedReading) -> None:
        with self._lock:
            self._under_way.discard(reading)

    def _expire(self) -> None:
        """Delete the statements that no request has used for a while, and cancel those of them that still run."""
        oldest = self._clock() - self.limits.kept_seconds
        for each in [each for each in self._kept.values() if each.used < oldest and not each.waiting]:
            del self._kept[each.id]
            each.cancel(f"no request has asked for it for {self.limits.kept_seconds:g} seconds")
