"""A lost connection to the database: a read is tried once more on a new one, and every failure is a `StoreError`."""

from collections.abc import Callable
from typing import Final, TypeVar

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from headgate.control.kernel.ports import StoreError

FAILURES: Final = (DBAPIError, PoolTimeoutError)
"""What the database and the pool of connections raise."""

Found = TypeVar("Found")


def retry_lost_read(read: Callable[[], Found]) -> Found:
    """Return what `read` finds. If its connection was lost, it is tried once more, with a new one.

    A write is never tried again: it may have arrived.
    """
    try:
        return read()
    except DBAPIError as error:
        if not error.connection_invalidated:
            raise
        return read()


def build_store_error(name: str, error: Exception, *, shared: bool) -> StoreError:
    """Return the error about the store of this name: what the database said, and what the operator checks."""
    said = str(error.orig if isinstance(error, DBAPIError) else error).strip().splitlines()[0]
    help = "check the server and the network" if shared else "check the disk and the permissions"
    return StoreError(f"the store `{name}` cannot be used ({said}); {help}, or restore a copy")
