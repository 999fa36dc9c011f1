"""PostgreSQL: the store of several processes. Nothing waits for it longer than the seconds that stand here."""

from collections.abc import Mapping
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.conninfo import make_conninfo
from psycopg.pq import Conninfo, PGconn
from sqlalchemy import URL, Connection, ExceptionContext, create_engine, event, func, make_url, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import ArgumentError

from headgate.control.kernel.ports import StoreError
from headgate.store.backends import DatabaseBackend

T = TypeVar("T")

CHANNEL = "headgate"
"""Where it is told that a log has moved on: `root:revision`."""

CONNECT_SECONDS = 3
STATEMENT_SECONDS = 5
"""How long the server may take for one statement before it gives up by itself."""
SILENT_SECONDS = 6.0
"""How long a server may say nothing at all before the connection is given up."""
POOL_SECONDS = 2
POOL_SIZE = 16

LIMITS = " ".join(
    f"-c {name}={STATEMENT_SECONDS}s"
    for name in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
)
_HOOKS = text("""
SELECT tgname::text FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
 WHERE NOT tgisinternal AND relnamespace = current_schema()::regnamespace
UNION ALL SELECT rulename::text FROM pg_rules WHERE schemaname = current_schema()
UNION ALL SELECT viewname::text FROM pg_views WHERE schemaname = current_schema()
""")
_READ_ONLY = "25006"
_MIGRATION = 0x68656164  # any number that nobody else locks


class TimeoutConnection(psycopg.Connection[Any]):
    """A connection that gives up a server which has stopped answering: the kernel of a stopped one still does."""

    patience: float | None = SILENT_SECONDS

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        """Wait for an answer. Raises `psycopg.OperationalError`, with the connection closed, where none comes."""
        try:
            return super().wait(gen, interval, self.patience if timeout is None else timeout)
        except psycopg.errors._WaitTimeout as error:  # noqa: SLF001 - there is no public name for it
            self.close()
            raise psycopg.OperationalError(f"no answer within {self.patience} s") from error


def open_postgresql(url: str) -> DatabaseBackend:
    """Return the database of a `postgresql://` URL. Raises `StoreError` for another URL."""
    engine = create_engine(
        _url(url),
        # What is written may be about people, and errors go to the log.
        hide_parameters=True,
        pool_size=POOL_SIZE,
        max_overflow=POOL_SIZE,
        pool_timeout=POOL_SECONDS,
        connect_args={
            "connect_timeout": CONNECT_SECONDS,
            "application_name": "headgate",
            # A standby may be behind: what was revoked a moment ago would be allowed by it.
            "target_session_attrs": "primary",
            "options": f"{LIMITS} -c synchronous_commit=on",
        },
    )
    event.listen(engine, "do_connect", lambda _dialect, _record, _positional, given: TimeoutConnection.connect(**given))
    event.listen(engine, "handle_error", _disconnect_from_standby)
    return DatabaseBackend(
        engine=engine,
        shared=True,
        insert=insert,
        # One statement sees one state, so that a reader needs no transaction around it.
        read={"isolation_level": "AUTOCOMMIT"},
        write={"isolation_level": "READ COMMITTED"},
        past={"isolation_level": "REPEATABLE READ"},
        hooks=_HOOKS,
        announce=_notify,
        alone=_advisory_lock,
    )


def connection_parameters(url: str) -> Mapping[str, str]:
    """Return the parameters with which libpq connects to the store of a URL. Nothing is connected. Raises `StoreError`.

    They are the URL's, then those of its service, of `PG*` variables and of libpq itself. Where it has a service that is not
    found, libpq does not connect, and they are the variables' and libpq's.
    """
    read = _url(url)
    _, given = read.get_dialect()().create_connect_args(read)
    defaults = Conninfo.get_defaults()
    keywords = {each.keyword.decode() for each in defaults}
    said = {name: value for name, value in given.items() if name in keywords}
    # libpq refuses the empty `sslmode` after it has taken the parameters from everywhere, and before it connects.
    connection = PGconn.connect_start(make_conninfo(**{**said, "sslmode": ""}).encode())
    try:
        return {each.keyword.decode(): each.val.decode() for each in (*defaults, *connection.info) if each.val}
    finally:
        connection.finish()


def _url(url: str) -> URL:
    try:
        read = make_url(url)
    except (ArgumentError, ValueError) as error:
        raise StoreError("the store's URL cannot be read; write `postgresql://USER@HOST/DATABASE`") from error
    if read.get_backend_name() != "postgresql":
        raise StoreError(f"no store lies in `{read.get_backend_name()}`; name a data folder or a `postgresql://` URL")
    return read.set(drivername="postgresql+psycopg")


def _disconnect_from_standby(context: ExceptionContext) -> None:
    # A server that has become a standby keeps its connections: they must go, or nobody finds the new primary.
    if getattr(context.original_exception, "sqlstate", None) == _READ_ONLY:
        context.is_disconnect = True


def _notify(connection: Connection, root: str, revision: int) -> None:
    connection.execute(select(func.pg_notify(CHANNEL, f"{root}:{revision}")))


def _advisory_lock(connection: Connection) -> None:
    driver = connection.connection.driver_connection
    if isinstance(driver, TimeoutConnection):
        driver.patience = None
    connection.detach()
    for limit in ("statement_timeout", "lock_timeout"):
        connection.execute(text(f"SET LOCAL {limit} = 0"))
    connection.execute(select(func.pg_advisory_xact_lock(_MIGRATION)))
