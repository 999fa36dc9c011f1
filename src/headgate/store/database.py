"""Opening the SQLite file: durable, shared by threads, and of the schema version that this code knows."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, insert, inspect, select
from sqlalchemy.exc import DBAPIError

from headgate.control.ports import StoreError
from headgate.store import tables

BUSY_SECONDS = 10


def open_database(path: Path) -> Engine:
    """Return an engine on the file, made if it is not there. Raises `StoreError` if it cannot serve."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"the data folder `{path.parent}` cannot be made ({error.strerror}); choose another"
        ) from error
    engine = create_engine(URL.create("sqlite", database=str(path)), connect_args={"timeout": BUSY_SECONDS})
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    try:
        with writing(engine) as connection:
            _make_or_check(connection, path)
    except StoreError:
        engine.dispose()
        raise
    return engine


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A connection that sees one state. Raises `StoreError` if the database cannot be read."""
    try:
        with engine.connect() as connection, connection.begin():
            yield connection
    except DBAPIError as error:
        raise _unusable(engine, error) from error


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A connection that holds the write lock from the start, so that what it reads is what it writes on."""
    try:
        with engine.connect().execution_options(headgate_begin="IMMEDIATE") as connection, connection.begin():
            yield connection
    except DBAPIError as error:
        raise _unusable(engine, error) from error


def _prepare(connection: Any, _record: Any) -> None:
    # The driver must not start transactions by itself: `_begin` does, with the lock it needs.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin(connection: Connection) -> None:
    mode = connection.get_execution_options().get("headgate_begin", "DEFERRED")
    connection.exec_driver_sql(f"BEGIN {mode}")


def _make_or_check(connection: Connection, path: Path) -> None:
    names = inspect(connection).get_table_names()
    if not names:
        tables.metadata.create_all(connection)
        connection.execute(insert(tables.meta).values(id=1, schema_version=tables.SCHEMA_VERSION))
        return
    if "meta" not in names:
        raise StoreError(f"`{path}` is not a store of Headgate; choose another data folder")
    version = connection.execute(select(tables.meta.c.schema_version)).scalar()
    if version != tables.SCHEMA_VERSION:
        raise StoreError(
            f"`{path}` has schema version {version} and this Headgate needs {tables.SCHEMA_VERSION}; "
            "start the version that made it or choose another data folder"
        )


def _unusable(engine: Engine, error: DBAPIError) -> StoreError:
    return StoreError(
        f"the store `{engine.url.database}` cannot be used ({error.orig}); "
        "check the disk and the permissions, or restore a copy"
    )
