"""The database of a store: migrated to the newest schema when it is opened; every failure is a `StoreError`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from sqlalchemy import Connection, Executable, Row, Table

from headgate.control.kernel.ports import StoreError
from headgate.control.kernel.stores import NumberedEntry
from headgate.store.backends import DatabaseBackend
from headgate.store.connection_loss import FAILURES, build_store_error, retry_lost_read
from headgate.store.schema import migrate_to_newest


def is_storable_text(text: str) -> bool:
    """Whether a row can hold this text: encodable as UTF-8 and without NUL. No id or name is any other text."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def escape_unstorable(value: Any) -> Any:
    """Return a value with the characters that no row can hold escaped: users and programs may send any text."""
    if not isinstance(value, str) or (value.isascii() and value.isprintable()):
        return value
    return value.encode(errors="backslashreplace").decode().replace("\0", r"\x00")


class Database:
    """Thread-safe reads and writes. Every failure is a `StoreError`; the next call connects again."""

    def __init__(self, backend: DatabaseBackend) -> None:
        """Open the database, and create or migrate its tables. Raises `StoreError` if it cannot be used."""
        self.backend = backend
        self.unwritten = False
        """Whether the last write failed."""
        self._engine = backend.engine
        try:
            with self.transaction() as connection:
                migrate_to_newest(connection, backend, self.name)
        except BaseException:
            self.close()
            raise

    @property
    def name(self) -> str:
        """The name that the operator knows: the path of the file, or the URL without its password."""
        url = self._engine.url
        return url.render_as_string().replace("+psycopg", "", 1) if self.backend.shared else str(url.database)

    def changed_elsewhere(self) -> bool:
        """Whether another process may have written since the last call."""
        try:
            return self.backend.moved()
        except FAILURES as error:
            raise self._unusable(error) from error

    def newest_entry(self) -> NumberedEntry | None:
        """Return the newest entry of all logs with its number; None if there is none, or if the backend does not number them."""
        return self.backend.newest()

    def vacuum(self) -> None:
        """Remove erased rows from every file of the database, except pages that a reader still uses."""
        self.backend.settle(self._engine)

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    def rows(self, query: Executable, **values: Any) -> Sequence[Row[Any]]:
        """Return the rows of a query. If the connection is lost, the query is retried once on a new one."""
        try:
            return retry_lost_read(lambda: self._read(query, values))
        except FAILURES as error:
            raise self._unusable(error) from error

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Run the block in a transaction, which is committed when the block ends and rolled back if it raises."""
        try:
            with self._transaction(self.backend.write) as connection:
                yield connection
        except StoreError:
            self.unwritten = True
            raise
        self.unwritten = False

    @contextmanager
    def snapshot_transaction(self) -> Iterator[Connection]:
        """Run the block in a read transaction that sees the present state, whatever is written meanwhile."""
        with self._transaction(self.backend.past) as connection:
            yield connection

    def insert_new(self, connection: Connection, table: Table, *rows: Mapping[str, Any]) -> bool:
        """Insert rows whose keys do not exist. Return whether all of them were inserted."""
        return connection.execute(_inserting(self.backend.insert, table), rows).rowcount == len(rows)

    def replace(self, connection: Connection, table: Table, values: Mapping[str, Any]) -> None:
        """Insert a row, or replace the row with the same key."""
        connection.execute(_replacing(self.backend.insert, table), values)

    def _read(self, query: Executable, values: Mapping[str, Any]) -> Sequence[Row[Any]]:
        with self._connected(self.backend.read) as connection:
            return connection.execute(query, values).all()

    @contextmanager
    def _transaction(self, options: Mapping[str, Any]) -> Iterator[Connection]:
        try:
            with self._connected(options) as connection:
                yield connection
        except FAILURES as error:
            raise self._unusable(error) from error
        except UnicodeEncodeError as error:
            raise StoreError(
                f"a text contains characters that are not valid Unicode ({error.reason}), and nothing was written; remove "
                "these characters and retry"
            ) from error

    @contextmanager
    def _connected(self, options: Mapping[str, Any]) -> Iterator[Connection]:
        with (
            self.backend.turn(),
            self._engine.connect().execution_options(**options) as connection,
            connection.begin(),
        ):
            yield connection

    def _unusable(self, error: Exception) -> StoreError:
        return build_store_error(self.name, error, shared=self.backend.shared)


# Statements are cached: SQLAlchemy takes longer to build one than to run it.


@cache
def _inserting(insert: Callable[..., Any], table: Table) -> Executable:
    return insert(table).on_conflict_do_nothing().execution_options(preserve_rowcount=True)


@cache
def _replacing(insert: Callable[..., Any], table: Table) -> Executable:
    statement = insert(table)
    rest = {column.name: statement.excluded[column.name] for column in table.c if not column.primary_key}
    return statement.on_conflict_do_update(index_elements=list(table.primary_key), set_=rest)
