"""SQLite: the store of a data folder, and the one in memory."""

import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, StaticPool, create_engine, event, text
from sqlalchemy.dialects.sqlite import insert

from headgate.control.kernel.ports import StoreError
from headgate.store.backends import DatabaseBackend

FILE = "headgate.db"
"""The file in a data folder."""

BUSY_SECONDS = 10

_RETRY_SECONDS = 0.01


def in_folder(folder: Path) -> DatabaseBackend:
    """Return the store's database in a data folder, made if it is not there. Raises `StoreError` if it cannot be."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"the data folder `{folder}` cannot be made ({error.strerror}); choose another") from error
    url = URL.create("sqlite", database=str(folder / FILE))
    engine = create_engine(url, hide_parameters=True, connect_args={"timeout": BUSY_SECONDS})
    return replace(_backend(engine, nullcontext), moved=_Watch(engine))


class _Watch:
    """Says whether the file has changed since this was asked last. A few microseconds: SQLite counts it in shared memory.

    The process that serves a data folder writes alone, but for commands on its machine, which it obeys at once.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._connection: Any = None
        self._version = -1
        event.listen(engine, "engine_disposed", self._let_go)

    def __call__(self) -> bool:
        """Say so. Raises `StoreError` if that cannot be known."""
        with self._lock:
            try:
                before, self._version = self._version, self._read()
            except sqlite3.Error as error:
                self._forget()
                raise StoreError(f"the data folder cannot be read ({error}); check the disk") from error
            return before != self._version

    def _read(self) -> int:
        if self._connection is None:
            file = str(self._engine.url.database)
            self._connection = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        found: int = self._connection.execute("PRAGMA data_version").fetchone()[0]
        return found

    def _let_go(self, _: Engine) -> None:
        with self._lock:
            self._forget()

    def _forget(self) -> None:
        # Another connection counts from another number.
        connection, self._connection, self._version = self._connection, None, -1
        if connection is not None:
            connection.close()


def _has_changed_elsewhere() -> bool:
    return False


def in_memory() -> DatabaseBackend:
    """Return a database that ends with the process: one connection, which everybody takes turns with."""
    lock = threading.RLock()
    engine = create_engine(
        "sqlite://", hide_parameters=True, poolclass=StaticPool, connect_args={"check_same_thread": False}
    )
    return replace(_backend(engine, lambda: lock), moved=_has_changed_elsewhere)


def _backend(engine: Engine, turn: Callable[[], AbstractContextManager[Any]]) -> DatabaseBackend:
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    # A writer holds the write lock from the start, so that what it reads is what it writes on.
    return DatabaseBackend(
        engine,
        shared=False,
        insert=insert,
        read={},
        past={},
        write={"headgate_begin": "IMMEDIATE"},
        hooks=text("SELECT name FROM sqlite_master WHERE type IN ('trigger', 'view')"),
        turn=turn,
        settle=_settle,
    )


def _prepare(connection: Any, _record: Any) -> None:
    # The driver must not start transactions by itself: `_begin` does, with the lock it needs.
    connection.isolation_level = None
    cursor = connection.cursor()
    _use_write_ahead_log(cursor)
    for pragma in ("synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _use_write_ahead_log(cursor: sqlite3.Cursor) -> None:
    # SQLite waits for every other lock by itself. This one it refuses at once while another process opens a new file.
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
    connection.exec_driver_sql(f"BEGIN {mode}")


def _settle(engine: Engine) -> None:
    # Deleted rows are overwritten in the file itself (`secure_delete`); the write-ahead log still has the old pages.
    connection = engine.raw_connection()
    try:
        connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()
