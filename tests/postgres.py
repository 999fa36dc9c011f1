"""A PostgreSQL server for the tests, in a temporary folder, and fresh databases of it for the tests."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psycopg
import pytest

from headgate.store import open_stores

USER = "postgres"
START_SECONDS = 60
_TEMPLATE = "headgate_template"
_IN_CI = os.environ.get("CI", "").lower() not in {"", "0", "false"}
_NUMBERS = count(1)


@dataclass(frozen=True)
class PostgresServer:
    """A running server. `process` is the parent of all other processes of the server."""

    process: subprocess.Popen[bytes]
    port: int
    folder: Path

    def url(self, database: str) -> str:
        """Return the URL of a database of the server."""
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{database}"

    def run(self, statement: str) -> None:
        """Run a statement as the administrator."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement.encode())

    def create(self, template: str = "template1") -> str:
        """Create a database from a template and return its name."""
        name = f"test_{next(_NUMBERS)}"
        self.run(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    def drop(self, database: str) -> None:
        """Drop a database and close the connections to it."""
        self.run(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server for the whole test run."""
    with tempfile.TemporaryDirectory(prefix="headgate-postgres-") as folder:
        server = start_server(Path(folder))
        try:
            yield server
        finally:
            stop_server(server)


@pytest.fixture(scope="session")
def postgres_template(postgres: PostgresServer) -> str:
    """The template database with Headgate's tables; the databases of tests are copies of it."""
    postgres.run(f"CREATE DATABASE {_TEMPLATE}")
    open_stores(postgres.url(_TEMPLATE)).close()
    return _TEMPLATE


@pytest.fixture
def postgres_url(postgres: PostgresServer, postgres_template: str) -> Iterator[str]:
    """The URL of a fresh database with Headgate's tables."""
    name = postgres.create(postgres_template)
    yield postgres.url(name)
    postgres.drop(name)


@pytest.fixture
def empty_postgres_url(postgres: PostgresServer) -> Iterator[str]:
    """The URL of a fresh, empty database."""
    name = postgres.create()
    yield postgres.url(name)
    postgres.drop(name)


@pytest.fixture
def free_port() -> int:
    """Return a port of the loopback interface that no process listens on."""
    return _free_port()


def binaries() -> Path:
    """Return the folder of the server's programs. Without a server, skip the test; under `CI`, fail it."""
    found = shutil.which("postgres")
    folders = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if folders:
        return folders[0]
    if _IN_CI:
        pytest.fail("PostgreSQL is not installed", pytrace=False)
    pytest.skip("PostgreSQL is not installed; install the package `postgresql`")


def start_server(folder: Path, port: int = 0) -> PostgresServer:
    """Start a server on the cluster in the folder; create the cluster if it is missing. Port 0 selects a free port."""
    programs, data, log, user = binaries(), folder / "data", folder / "log", _user(folder)
    if not data.exists():
        initdb = [programs / "initdb", "-D", data, "-U", USER, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"]
        subprocess.run(initdb, check=True, cwd=folder, stdout=subprocess.DEVNULL, user=user, group=user)
    port = port or _free_port()
    settings = {
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",
        "fsync": "off",
        "max_connections": "200",
    }
    options = [text for name, value in settings.items() for text in ("-c", f"{name}={value}")]
    with log.open("ab") as output:
        process = subprocess.Popen(
            [programs / "postgres", "-D", data, "-p", str(port), *options],
            cwd=folder,
            stdout=output,
            stderr=output,
            user=user,
            group=user,
        )
    server = PostgresServer(process, port, folder)
    try:
        _wait_for(server, log)
    except BaseException:
        stop_server(server)
        raise
    return server


def stop_server(server: PostgresServer) -> None:
    """Stop the server and close all connections."""
    server.process.send_signal(signal.SIGINT)
    try:
        server.process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        server.process.send_signal(signal.SIGQUIT)
        server.process.wait()


def _user(folder: Path) -> str | None:
    """Return the user that the server runs as. PostgreSQL refuses to run as root, so root starts it as another user."""
    if os.geteuid() != 0:
        return None
    shutil.chown(folder, USER, USER)
    return USER


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_for(server: PostgresServer, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            psycopg.connect(server.url("postgres")).close()
        except psycopg.OperationalError:
            assert server.process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        else:
            return
