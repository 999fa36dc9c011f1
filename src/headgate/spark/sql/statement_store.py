"""Statements over HTTP while they run, and their rows until these have been fetched: each is its caller's alone."""

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
"""How many principals can have all their statements read at once, so that no statement of another principal waits.

One that is being read takes a thread, and at times a second one that closes it. Threads start when they are needed.
"""

_PAGES, _PAGES_PER_PRINCIPAL = 64, 4
"""How many pages of rows are in memory at once, from before they are made until their clients have read them."""
_MAKING, _MAKING_PER_PRINCIPAL = 2, 1
"""How many pages are made at once: that is work of Python, of which one thread runs at a time."""
_WAITING, _WAITING_PER_PRINCIPAL = 1024, 64
"""How many pages wait or are in memory."""

CANCELLED_BY = "its caller ended it"


def _pages_busy() -> Exception:
    return StatementError("too many pages of rows are being read; finish reading one, then retry", None, TOO_MANY)


class CountedReading:
    """A `Execution` that counts as a statement of its principal until it is closed."""

    def __init__(self, reading: Execution, principal: PrincipalId, closed: "Callable[[CountedReading], None]") -> None:
        self.principal = principal
        self._reading = reading
        self._closed = closed

    @property
    def progress(self) -> StatementProgress:
        """How far it is."""
        return self._reading.progress

    @property
    def more(self) -> bool:
        """Whether there were more rows than were wanted; known when all of them are read."""
        return self._reading.more

    def open(self) -> tuple[tuple[Column, ...], pa.Schema]:
        """Run it until its first rows are there. Raises `StatementError`."""
        return self._reading.open()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows as Spark makes them. Raises `StatementError`."""
        return self._reading.batches()

    def decide_again(self, caller: Caller) -> None:
        """Raise `StatementError` unless the caller may read now what was read."""
        self._reading.decide_again(caller)

    def cancel(self, why: str) -> None:
        """End it."""
        self._reading.cancel(why)

    def close(self) -> None:
        """Let go of it, and then of its place among the statements of its principal."""
        try:
            self._reading.close()
        finally:
            self._closed(self)


class StoredStatement:
    """A statement under way, and then its rows. `error` is what it failed with."""

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
        """How many wait for it now."""
        self.ended: Future[None] = Future()
        self.ended.set_running_or_notify_cancel()  # who gives up waiting for it does not end it

    @property
    def state(self) -> State:
        """Where it is."""
        if not self.ended.done():
            return "running"
        if self.error is None:
            return "succeeded"
        return "cancelled" if self.error.condition == "CANCELLED" else "failed"

    @property
    def progress(self) -> StatementProgress:
        """How far Spark says that it is."""
        return self.reading.progress

    def cancel(self, why: str = CANCELLED_BY) -> None:
        """End it."""
        self.reading.cancel(why)

    def decide_again(self, caller: Caller) -> None:
        """Raise `StatementError` unless the caller may read its rows now, if there are any yet.

        A result without columns tells nothing; what a `DROP` needed could not be asked for after it.
        """
        if self.rows is not None and self.columns:
            self.reading.decide_again(caller)

    def run(self) -> None:
        """Read all rows that are wanted, or what it fails with; in a thread of its own."""
        try:
            self.columns, schema = self.reading.open()
            rows = pa.Table.from_batches(list(self.reading.batches()), schema)
            # In one piece: a page of many small batches would take long to make.
            self.rows = rows.combine_chunks()
            self.more = self.reading.more
        except StatementError as error:
            self.error = error
        except Exception:
            log.exception("the statement %s failed", self.id)
            self.error = StatementError("this failed here; the server's log says why", None, None)
        finally:
            self.reading.close()
            self.ended.set_result(None)


class StatementStore:
    """Runs statements and keeps them, each for the credential that it came with. Safe to use from several threads."""

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
        """Held while a page of rows is made."""

    @property
    def workers(self) -> ThreadPoolExecutor:
        """The threads in which statements are read."""
        return self._workers

    def begin(
        self, credential: PresentedCredential, principal: PrincipalId, wanted: StatementRequest
    ) -> CountedReading:
        """Return a statement that nothing is kept of; the caller reads and closes it.

        Raises `StatementError` if the principal has as many as there may be.
        """
        with self._lock:
            return self._begin(credential, principal, wanted)

    def start(
        self, credential: PresentedCredential, principal: PrincipalId, wanted: StatementRequest
    ) -> StoredStatement:
        """Run a statement whose rows are kept. Raises `StatementError` if the principal has as many as there may be."""
        with self._lock:
            kept = StoredStatement(credential, self._begin(credential, principal, wanted), self._clock())
            self._kept[kept.id] = kept
        self._workers.submit(kept.run)
        return kept

    def find(self, credential: PresentedCredential, id: str) -> StoredStatement | None:
        """Return a statement of this credential, which counts as a use."""
        with self._lock:
            self._expire()
            kept = self._kept.get(id)
            if kept is None or kept.credential != credential:
                return None
            kept.used = self._clock()
            return kept

    def drop(self, kept: StoredStatement, why: str = CANCELLED_BY) -> None:
        """End a statement and keep nothing of it."""
        with self._lock:
            self._kept.pop(kept.id, None)
        kept.cancel(why)

    def close(self) -> None:
        """End everything."""
        with self._lock:
            kept = tuple(self._kept.values())
            self._kept.clear()
        for each in kept:
            each.cancel("the server ends")
        self._spark.close()
        self._workers.shutdown(wait=False, cancel_futures=True)

    def _begin(
        self, credential: PresentedCredential, principal: PrincipalId, wanted: StatementRequest
    ) -> CountedReading:
        """Begin a statement within the number that its principal may have."""
        self._expire()
        # A statement that was dropped counts until its thread has closed it.
        readings = self._under_way | {each.reading for each in self._kept.values()}
        if sum(1 for each in readings if each.principal == principal) >= self.limits.at_once:
            text = f"{self.limits.at_once} statements are under way or kept; wait for one, or end one"
            raise StatementError(text, None, TOO_MANY)
        reading = CountedReading(self._spark.begin(credential, wanted), principal, self._closed)
        self._under_way.add(reading)
        return reading

    def _closed(self, reading: CountedReading) -> None:
        with self._lock:
            self._under_way.discard(reading)

    def _expire(self) -> None:
        """Let go of what nobody has asked for in a while; what still runs goes on only while somebody asks."""
        oldest = self._clock() - self.limits.kept_seconds
        for each in [each for each in self._kept.values() if each.used < oldest and not each.waiting]:
            del self._kept[each.id]
            each.cancel("nobody has asked for it in a while")
