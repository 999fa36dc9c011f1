"""A store's database: opened with the schema that this code knows, read and written with one kind of error."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from sqlalchemy import Connection, Executable, Row, Table

from headgate.control.kernel.ports import StoreError
from headgate.store.backends import DatabaseBackend
from headgate.store.connection_loss import FAILURES, build_store_error, retry_lost_read
from headgate.store.schema import migrate_to_newest


def is_storable_text(text: str) -> bool:
    """Say whether a row can hold this text at all; what nothing can be called need not be looked for."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def escape_unstorable(value: Any) -> Any:
    """Return a value with what no row can hold written out: what people and programs say can be any text."""
    if not isinstance(value, str) or (value.isascii() and value.isprintable()):
        return value
    return value.encode(errors="backslashreplace").decode().replace("\0", r"\x00")


class Database:
    """Reads and writes, from several threads. Every failure is a `StoreError`; the next call tries anew."""

    def __init__(self, backend: DatabaseBackend) -> None:
        """Take the database, with its tables made or brought up to date. Raises `StoreError` if it cannot serve."""
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
        """What the operator knows it as: a file, or a URL without its password."""
        url = self._engine.url
        return url.render_as_string().replace("+psycopg", "", 1) if self.backend.shared else str(url.database)

    def changed_elsewhere(self) -> bool:
        """Say whether another process may have written since this was asked last."""
        try:
            return self.backend.moved()
        except FAILURES as error:
            raise self._unusable(error) from error

    def vacuum(self) -> None:
        """Take what was erased out of every file, as far as nobody reads it just now."""
        self.backend.settle(self._engine)

    def close(self) -> None:
        """Let go of every connection."""
        self._engine.dispose()

    def rows(self, query: Executable, **values: Any) -> Sequence[Row[Any]]:
        """Return what a query finds, on a new connection if the one at hand was lost."""
        try:
            return retry_lost_read(lambda: self._read(query, values))
        except FAILURES as error:
            raise self._unusable(error) from error

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A transaction that is written when the block ends, and not at all if it raises."""
        try:
            with self._transaction(self.backend.write) as connection:
                yield connection
        except StoreError:
            self.unwritten = True
            raise
        self.unwritten = False

    @contextmanager
    def snapshot_transaction(self) -> Iterator[Connection]:
        """A transaction that sees what there is now, whatever is written while the block lasts."""
        with self._transaction(self.backend.past) as connection:
            yield connection

    def insert_new(self, connection: Connection, table: Table, values: Mapping[str, Any]) -> bool:
        """Insert a row, and say whether it was new: where there is one under this key, nothing is written."""
        return connection.execute(_inserting(self.backend.insert, table), values).rowcount == 1

    def replace(self, connection: Connection, table: Table, values: Mapping[str, Any]) -> None:
        """Insert a row, or put it in the place of the one under this key."""
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
                f"a text that is not Unicode cannot be stored ({error.reason}); nothing was written"
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


# Statements are made once: to make one takes longer than to run it.


@cache
def _inserting(insert: Callable[..., Any], table: Table) -> Executable:
    return insert(table).on_conflict_do_nothing().execution_options(preserve_rowcount=True)


@cache
def _replacing(insert: Callable[..., Any], table: Table) -> Executable:
    statement = insert(table)
    rest = {column.name: statement.excluded[column.name] for column in table.c if not column.primary_key}
    return statement.on_conflict_do_update(index_elements=list(table.primary_key), set_=rest)
