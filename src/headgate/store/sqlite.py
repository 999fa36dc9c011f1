"""SQLite: the store of a data folder, and the one in memory."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, StaticPool, create_engine, event
from sqlalchemy.dialects.sqlite import insert

from headgate.control.ports import StoreError
from headgate.store.backends import Backend

FILE = "headgate.db"
"""The file in a data folder."""

BUSY_SECONDS = 10


def in_folder(folder: Path) -> Backend:
    """Return the store's database in a data folder, made if it is not there. Raises `StoreError` if it cannot be."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"the data folder `{folder}` cannot be made ({error.strerror}); choose another") from error
    url = URL.create("sqlite", database=str(folder / FILE))
    return _backend(create_engine(url, connect_args={"timeout": BUSY_SECONDS}), nullcontext)


def in_memory() -> Backend:
    """Return a database that ends with the process: one connection, which everybody takes turns with."""
    lock = threading.RLock()
    engine = create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
    return _backend(engine, lambda: lock)


def _backend(engine: Engine, turn: Callable[[], AbstractContextManager[Any]]) -> Backend:
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    # A writer holds the write lock from the start, so that what it reads is what it writes on.
    return Backend(engine, shared=False, insert=insert, read={}, write={"headgate_begin": "IMMEDIATE"}, turn=turn)


def _prepare(connection: Any, _record: Any) -> None:
    # The driver must not start transactions by itself: `_begin` does, with the lock it needs.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin(connection: Connection) -> None:
    mode = connection.get_execution_options().get("headgate_begin", "DEFERRED")
    connection.exec_driver_sql(f"BEGIN {mode}")
