"""The stock Spark Connect client, pointed at the gateway: how the server itself runs SQL, as whoever asks."""

import atexit
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.connect.client.retries import DefaultPolicy
from pyspark.sql.connect.session import SparkSession

from headgate.spark.statements import NOT_READY, Rows, StatementError, own_words

_SESSIONS = 32
_RETRIES = 6
_LONGEST_WAIT = 2000
"""Milliseconds between two tries."""

# The client logs every failed statement with a stack trace; here each becomes the answer to whoever sent it.
for _name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)


class _Session(SparkSession):
    """Ends when it is stopped, and not when the collector finds it: on the client's own thread, that one waits for itself."""

    def __del__(self) -> None:
        """Leave the client alone."""


def connect(port: int, token: str) -> SparkSession:
    """Open a new session through the gateway on this machine. Whoever opens it stops it."""
    # The client sends a token without TLS to the name `localhost` only.
    session = _Session(f"sc://localhost:{port}/;token={token}")
    # The client would keep itself for a last call when this process ends, and then wait long for a server that is gone.
    atexit.unregister(session.client._cleanup_ml_cache)  # noqa: SLF001 (there is no public way)
    # The client's own patience is ten minutes; whoever waits here would rather be told that Spark is away.
    session.client.set_retry_policies([DefaultPolicy(max_retries=_RETRIES, max_backoff=_LONGEST_WAIT)])
    return session


class Statements:
    """Runs statements as the holder of a token; one Spark session per token, the least used ones closed."""

    def __init__(self, port: Callable[[], int]) -> None:
        self._port = port
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, tuple[SparkSession, threading.Lock]] = OrderedDict()

    def run(self, token: str, statement: str, limit: int) -> Rows:
        """Run one statement; raises `StatementError`."""
        with self._session(token) as spark:
            try:
                frame = spark.sql(statement)
                table = frame.limit(limit + 1).toArrow()
                types = tuple(field.dataType.simpleString() for field in frame.schema.fields)
            except PySparkException as error:
                if error.getSqlState() is None or str(error.getCondition()).startswith("INVALID_HANDLE"):
                    # Not an answer about the statement: the session itself is gone, with the driver it was in.
                    self._forget(token)
                raise _statement_error(error) from None
        return Rows(tuple(table.column_names), types, _rows(table.slice(0, limit)), table.num_rows > limit)

    def close(self) -> None:
        """End every session."""
        with self._lock:
            for session, _ in self._sessions.values():
                session.stop()
            self._sessions.clear()

    @contextmanager
    def _session(self, token: str) -> Iterator[SparkSession]:
        with self._lock:
            entry = self._sessions.pop(token, None) or (connect(self._port(), token), threading.Lock())
            self._sessions[token] = entry
            self._evict()
        with entry[1]:
            yield entry[0]

    def _evict(self) -> None:
        """Stop the least used sessions above the limit that nobody uses now; the newest is about to be used."""
        for token, (session, busy) in list(self._sessions.items())[:-1]:
            if len(self._sessions) <= _SESSIONS:
                return
            if busy.acquire(blocking=False):
                del self._sessions[token]
                session.stop()

    def _forget(self, token: str) -> None:
        with self._lock:
            entry = self._sessions.pop(token, None)
        if entry:
            # Stopped and not left to the collector, which would call the server from wherever it happens to run.
            entry[0].stop()


def _rows(table: pa.Table) -> tuple[tuple[Any, ...], ...]:
    """Return the rows by position: two columns of a result may have the same name."""
    try:
        return tuple(zip(*(column.to_pylist() for column in table.columns), strict=True))
    except (OverflowError, ValueError) as error:
        raise StatementError(f"a value of the result cannot be shown ({error}); cast it", None, None) from None


def _statement_error(error: PySparkException) -> StatementError:
    if error.getCondition() == "RETRIES_EXCEEDED" or NOT_READY in str(error):
        return StatementError(NOT_READY, None, "UNAVAILABLE")
    return StatementError(own_words(error), error.getSqlState(), error.getCondition())
