"""Statements over HTTP while they run, and their rows until these have been fetched: each is its caller's alone."""

import logging
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Literal

import pyarrow as pa

from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId
from headgate.spark.statements import (
    TOO_MANY,
    Column,
    Progress,
    Reading,
    RunsStatements,
    SqlLimits,
    StatementError,
    Wanted,
)

log = logging.getLogger(__name__)

State = Literal["running", "succeeded", "failed", "cancelled"]

_WORKERS = 64
"""How many statements are read at once; the others wait for their turn."""

CANCELLED_BY = "its caller ended it"


class KeptStatement:
    """A statement under way, and then its rows. `error` is what it failed with."""

    def __init__(self, token: str, principal: PrincipalId, reading: Reading, now: float) -> None:
        self.id = f"s_{secrets.token_urlsafe(16)}"
        self.token = token
        self.principal = principal
        self.used = now
        self.columns: tuple[Column, ...] = ()
        self.rows: pa.Table | None = None
        self.more = False
        self.error: StatementError | None = None
        self.waiting = 0
        """How many wait for it now."""
        self.ended: Future[None] = Future()
        self.ended.set_running_or_notify_cancel()  # who gives up waiting for it does not end it
        self._reading = reading

    @property
    def state(self) -> State:
        """Where it is."""
        if not self.ended.done():
            return "running"
        if self.error is None:
            return "succeeded"
        return "cancelled" if self.error.condition == "CANCELLED" else "failed"

    @property
    def progress(self) -> Progress:
        """How far Spark says that it is."""
        return self._reading.progress

    def cancel(self, why: str = CANCELLED_BY) -> None:
        """End it."""
        self._reading.cancel(why)

    def decide_again(self, caller: Caller) -> None:
        """Raise `StatementError` unless the caller may read its rows now, if there are any yet.

        A result without columns tells nothing; what a `DROP` needed could not be asked for after it.
        """
        if self.rows is not None and self.columns:
            self._reading.decide_again(caller)

    def run(self) -> None:
        """Read all rows that are wanted, or what it fails with; in a thread of its own."""
        try:
            self.columns, schema = self._reading.open()
            self.rows = pa.Table.from_batches(list(self._reading.batches()), schema)
            self.more = self._reading.more
        except StatementError as error:
            self.error = error
        except Exception:
            log.exception("the statement %s failed", self.id)
            self.error = StatementError("this failed here; the server's log says why", None, None)
        finally:
            self._reading.close()
            self.ended.set_result(None)


class KeptStatements:
    """Runs statements and keeps them, each for the token that sent it. Safe to use from several threads."""

    def __init__(self, spark: RunsStatements, limits: SqlLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits
        self._spark = spark
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: dict[str, KeptStatement] = {}
        self._workers = ThreadPoolExecutor(_WORKERS, thread_name_prefix="headgate-sql")

    @property
    def workers(self) -> ThreadPoolExecutor:
        """The threads in which statements are read."""
        return self._workers

    def begin(self, token: str, wanted: Wanted) -> Reading:
        """Return a statement that nothing is kept of: who begins it reads it."""
        return self._spark.begin(token, wanted)

    def start(self, token: str, principal: PrincipalId, wanted: Wanted) -> KeptStatement:
        """Run a statement whose rows are kept. Raises `StatementError` if the principal has as many as there may be."""
        with self._lock:
            self._expire()
            if sum(1 for each in self._kept.values() if each.principal == principal) >= self.limits.at_once:
                text = f"{self.limits.at_once} statements are under way or kept; wait for one, or end one"
                raise StatementError(text, None, TOO_MANY)
            kept = KeptStatement(token, principal, self._spark.begin(token, wanted), self._clock())
            self._kept[kept.id] = kept
        self._workers.submit(kept.run)
        return kept

    def find(self, token: str, id: str) -> KeptStatement | None:
        """Return a statement of this token, which counts as a use."""
        with self._lock:
            self._expire()
            kept = self._kept.get(id)
            if kept is None or kept.token != token:
                return None
            kept.used = self._clock()
            return kept

    def drop(self, kept: KeptStatement, why: str = CANCELLED_BY) -> None:
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

    def _expire(self) -> None:
        """Let go of what nobody has asked for in a while; what still runs goes on only while somebody asks."""
        oldest = self._clock() - self.limits.kept_seconds
        for each in [each for each in self._kept.values() if each.used < oldest and not each.waiting]:
            del self._kept[each.id]
            each.cancel("nobody has asked for it in a while")
