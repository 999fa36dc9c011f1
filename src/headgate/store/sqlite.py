"""SQLite: the store of a data folder, and the one in memory."""

import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Connection, Engine, StaticPool, create_engine, event, text
from sqlalchemy.dialects.sqlite import insert

from headgate.control.kernel.ports import Head, StoreError
from headgate.control.kernel.stores import NumberedEntry
from headgate.facts.ids import ResourceId
from headgate.store.backends import DatabaseBackend

FILE = "headgate.db"
"""The file in a data folder."""

BUSY_SECONDS = 10

_RETRY_SECONDS = 0.01
_NO_TRANSACTION: Final = ""
"""A connection that runs one query needs no transaction: the query sees one state of the file."""


def in_folder(folder: Path) -> DatabaseBackend:
    """Return the backend of the store in a data folder, which is created if missing. Raises `StoreError` if it cannot be."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"the data folder `{folder}` cannot be created ({error.strerror}); check its path, or choose another data folder"
        ) from error
    url = URL.create("sqlite", database=str(folder / FILE))
    engine = create_engine(url, hide_parameters=True, connect_args={"timeout": BUSY_SECONDS})
    watch = _Watch(engine)
    return replace(_backend(engine, nullcontext), moved=watch.has_moved, newest=watch.newest_entry)


class _Watch:
    """Detects writes to the file in microseconds: SQLite counts in shared memory, and the watch has a connection of its own.

    Besides the process that serves a data folder, only commands on the same machine write; they take effect at once.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._connection: Any = None
        self._version = -1
        event.listen(engine, "engine_disposed", self._let_go)

    def has_moved(self) -> bool:
        """Return whether the file has changed since the last call. Raises `StoreError` if it cannot be read."""
        with self._lock:
            before, self._version = self._version, self._read("PRAGMA data_version")[0]
            return before != self._version

    def newest_entry(self) -> NumberedEntry | None:
        """Return the newest entry of all logs, or None. Raises `StoreError` if the file cannot be read.

        SQLite gives each new row of the table the next number, because no row is ever deleted.
        """
        with self._lock:
            found = self._read("SELECT rowid, log_id, revision, hash FROM log ORDER BY rowid DESC LIMIT 1")
        return None if found is None else NumberedEntry(found[0], ResourceId(found[1]), Head(found[2], found[3]))

    def _read(self, query: str) -> Any:
        try:
            if self._connection is None:
                file = str(self._engine.url.database)
                self._connection = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
            return self._connection.execute(query).fetchone()
        except sqlite3.Error as error:
            self._forget()
            raise StoreError(
                f"the store `{self._engine.url.database}` cannot be read ({error}); check the disk and the permissions of the file"
            ) from error

    def _let_go(self, _: Engine) -> None:
        with self._lock:
            self._forget()

    def _forget(self) -> None:
        # `data_version` of another connection is not comparable with this one's.
        connection, self._connection, self._version = self._connection, None, -1
        if connection is not None:
            connection.close()


def _has_changed_elsewhere() -> bool:
    return False


def in_memory() -> DatabaseBackend:
    """Return a backend in memory, which ends with the process: one connection, which all threads share under a lock."""
    lock = threading.RLock()
    engine = create_engine(
        "sqlite://", hide_parameters=True, poolclass=StaticPool, connect_args={"check_same_thread": False}
    )
    # A read must not commit a transaction of the same thread, which has the same connection: it begins one of its own, which fails.
    return replace(_backend(engine, lambda: lock), moved=_has_changed_elsewhere, read={})


def _backend(engine: Engine, turn: Callable[[], AbstractContextManager[Any]]) -> DatabaseBackend:
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    # A writer takes the write lock at the start of its transaction, so that no other write comes between its read and write.
    return DatabaseBackend(
        engine,
        shared=False,
        insert=insert,
        read={"headgate_begin": _NO_TRANSACTION},
        past={},
        write={"headgate_begin": "IMMEDIATE"},
        hooks=text("SELECT name FROM sqlite_master WHERE type IN ('trigger', 'view')"),
        turn=turn,
        settle=_settle,
    )


def _prepare(connection: Any, _record: Any) -> None:
    # The driver must not start transactions by itself: `_begin` starts them, with the lock that each needs.
    connection.isolation_level = None
    cursor = connection.cursor()
    _use_write_ahead_log(cursor)
    for pragma in ("synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _use_write_ahead_log(cursor: sqlite3.Cursor) -> None:
    # SQLite waits for every other lock by itself. It refuses this one at once while another process opens a new file.
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_SECONDS)
        else:
            return


def _begin(connection: Connection) -> None:
    mode = connection.get_execution_options().get("headgate_begin", "DEFERRED")
    if mode != _NO_TRANSACTION:
        connection.exec_driver_sql(f"BEGIN {mode}")


def _settle(engine: Engine) -> None:
    # Erasure: `secure_delete` overwrites deleted rows in the file itself; the write-ahead log still has the old pages.
    connection = engine.raw_connection()
    try:
        connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()
