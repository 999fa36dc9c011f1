"""PostgreSQL: the store that several processes share, with the timeouts of connections, statements and the pool."""

from collections.abc import Mapping
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.conninfo import make_conninfo
from psycopg.pq import Conninfo, PGconn
from sqlalchemy import URL, Connection, ExceptionContext, create_engine, event, func, make_url, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import ArgumentError
from typing_extensions import override

from headgate.control.kernel.ports import StoreError
from headgate.store.backends import DatabaseBackend

T = TypeVar("T")

CHANNEL = "headgate"
"""The channel of notifications (`NOTIFY`) of new revisions; the payload is `root:revision`."""

CONNECT_SECONDS = 3
STATEMENT_SECONDS = 5
"""The server's timeout for one statement, for a lock and for an idle transaction."""
SILENT_SECONDS = 6.0
"""The client's timeout for a server that does not respond; the connection is then closed."""
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
_MIGRATION = 0x68656164  # the key of the advisory lock: an arbitrary number that no other program locks


class TimeoutConnection(psycopg.Connection[Any]):
    """A connection with a timeout for a stopped server, which TCP does not detect: its kernel still acknowledges packets."""

    patience: float | None = SILENT_SECONDS

    @override
    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        """Wait for a response. On timeout, close the connection and raise `psycopg.OperationalError`."""
        try:
            return super().wait(gen, interval, self.patience if timeout is None else timeout)
        except psycopg.errors._WaitTimeout as error:  # noqa: SLF001 - there is no public name for it
            self.close()
            raise psycopg.OperationalError(
                f"the database server did not respond within {self.patience} s; check that it is running and not overloaded"
            ) from error


def open_postgresql(url: str) -> DatabaseBackend:
    """Return the backend of a `postgresql://` URL. Raises `StoreError` for any other URL."""
    engine = create_engine(
        _url(url),
        # Parameters may hold personal data, and errors with their parameters would go to the log.
        hide_parameters=True,
        pool_size=POOL_SIZE,
        max_overflow=POOL_SIZE,
        pool_timeout=POOL_SECONDS,
        connect_args={
            "connect_timeout": CONNECT_SECONDS,
            "application_name": "headgate",
            # A standby may lag behind the primary: it could still allow what was revoked a moment ago.
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
        # One statement sees one snapshot, so that a reader needs no transaction around it.
        read={"isolation_level": "AUTOCOMMIT"},
        write={"isolation_level": "READ COMMITTED"},
        past={"isolation_level": "REPEATABLE READ"},
        hooks=_HOOKS,
        announce=_notify,
        alone=_advisory_lock,
    )


def connection_parameters(url: str) -> Mapping[str, str]:
    """Return the parameters with which libpq would connect to the store of a URL, without connecting. Raises `StoreError`.

    In order of precedence, they are from the URL, from the service that it names, from `PG*` variables and libpq's defaults.
    If the URL names a service that is not found, libpq does not connect, and they are the variables' and libpq's defaults.
    """
    read = _url(url)
    _, given = read.get_dialect()().create_connect_args(read)
    defaults = Conninfo.get_defaults()
    keywords = {each.keyword.decode() for each in defaults}
    said = {name: value for name, value in given.items() if name in keywords}
    # libpq refuses the empty `sslmode` after it has collected the parameters from all sources, and before it connects.
    connection = PGconn.connect_start(make_conninfo(**{**said, "sslmode": ""}).encode())
    try:
        return {each.keyword.decode(): each.val.decode() for each in (*defaults, *connection.info) if each.val}
    finally:
        connection.finish()


def _url(url: str) -> URL:
    try:
        read = make_url(url)
    except (ArgumentError, ValueError) as error:
        raise StoreError("the URL of the store is malformed; write `postgresql://USER@HOST/DATABASE`") from error
    if read.get_backend_name() != "postgresql":
        raise StoreError(
            f"a store in a database of the kind `{read.get_backend_name()}` is not supported; name a data folder or a `postgresql://` URL"
        )
    return read.set(drivername="postgresql+psycopg")


def _disconnect_from_standby(context: ExceptionContext) -> None:
    # A server that has become a standby keeps its connections: they must be closed, or no process finds the new primary.
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
