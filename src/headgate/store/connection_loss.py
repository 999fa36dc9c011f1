"""A lost connection to the database: a read is retried once on a new connection, and every failure is a `StoreError`."""

from collections.abc import Callable
from typing import Final, TypeVar

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from headgate.control.kernel.ports import StoreError

FAILURES: Final = (DBAPIError, PoolTimeoutError)
"""The exceptions that the database and the connection pool raise."""

Found = TypeVar("Found")


def retry_lost_read(read: Callable[[], Found]) -> Found:
    """Return the result of `read`. If its connection was lost, retry it once on a new connection.

    A write is never retried: the first try may have had its effect.
    """
    try:
        return read()
    except DBAPIError as error:
        if not error.connection_invalidated:
            raise
        return read()


def build_store_error(name: str, error: Exception, *, shared: bool) -> StoreError:
    """Return the error about the store of this name, with the database's message and the operator's next step."""
    said = str(error.orig if isinstance(error, DBAPIError) else error).strip().splitlines()[0]
    if shared:
        return StoreError(
            f"the store `{name}` cannot be used ({said}); check the database server and the network, or restore a backup"
        )
    return StoreError(
        f"the store `{name}` cannot be used ({said}); check the disk and the permissions of the file, or restore a backup"
    )
