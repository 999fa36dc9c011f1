"""Faults of a PostgreSQL server, each for the duration of a block."""

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import psycopg

from tests.postgres import PostgresServer, start_server, stop_server
from tests.store.test_postgresql import stopped


class OwnServer:
    """A PostgreSQL server that can be stopped and restarted with the same folder and port."""

    def __init__(self, folder: Path) -> None:
        self.running = start_server(folder)

    def restart(self) -> None:
        """Start the server with its folder and port."""
        self.running = start_server(self.running.folder, self.running.port)

    def stop(self) -> None:
        """Stop the server and close all connections."""
        stop_server(self.running)


@contextmanager
def gone(server: OwnServer) -> Iterator[None]:
    """Stop the server."""
    server.stop()
    try:
        yield
    finally:
        server.restart()


@contextmanager
def silent(server: OwnServer) -> Iterator[None]:
    """Make the server accept connections and answer nothing."""
    with stopped(server.running):
        yield


@contextmanager
def locked(server: OwnServer) -> Iterator[None]:
    """Lock the tables with another connection, so that every statement waits."""
    with contextlib.ExitStack() as stack:
        for database in databases(server.running):
            keeper = stack.enter_context(psycopg.connect(server.running.url(database)))
            keeper.execute("LOCK TABLE log")
        yield


@contextmanager
def standby(server: OwnServer) -> Iterator[None]:
    """Turn the server into a standby, which may lag behind its primary."""
    server.stop()
    signal = server.running.folder / "data" / "standby.signal"
    signal.touch()
    server.restart()
    try:
        yield
    finally:
        server.stop()
        signal.unlink()
        server.restart()


@contextmanager
def read_only(server: OwnServer) -> Iterator[None]:
    """Make the server refuse writes."""
    _set(server.running, "on")
    try:
        yield
    finally:
        _set(server.running, "off")


TROUBLES: dict[str, Callable[[OwnServer], AbstractContextManager[None]]] = {
    each.__name__: each for each in (gone, silent, locked, standby)
}
"""Faults during which the newest revision cannot be determined."""


def databases(server: PostgresServer) -> list[str]:
    """Return the names of the databases that tests have created."""
    with psycopg.connect(server.url("postgres")) as connection:
        rows = connection.execute("SELECT datname FROM pg_database WHERE datname LIKE 'test_%'").fetchall()
    return [name for (name,) in rows]


def _set(server: PostgresServer, value: str) -> None:
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = off")
        connection.execute(f"ALTER SYSTEM SET default_transaction_read_only = {value}".encode())
        connection.execute("SELECT pg_reload_conf()")
