"""A PostgreSQL server of the tests' own, in a temporary folder, and a fresh database of it for each test that asks."""

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
    """A running server. `process` is the one that all its others are children of."""

    process: subprocess.Popen[bytes]
    port: int
    folder: Path

    def url(self, database: str) -> str:
        """Return the URL of one of its databases."""
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{database}"

    def run(self, statement: str) -> None:
        """Run a statement of the administrator's."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement.encode())

    def create(self, template: str = "template1") -> str:
        """Make a database like another one and return its name."""
        name = f"test_{next(_NUMBERS)}"
        self.run(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    def drop(self, database: str) -> None:
        """Remove a database, and end whoever is still connected to it."""
        self.run(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server for the whole run of tests."""
    with tempfile.TemporaryDirectory(prefix="headgate-postgres-") as folder:
        server = start_server(Path(folder))
        try:
            yield server
        finally:
            stop_server(server)


@pytest.fixture(scope="session")
def postgres_template(postgres: PostgresServer) -> str:
    """The database that those with Headgate's tables are copies of."""
    postgres.run(f"CREATE DATABASE {_TEMPLATE}")
    open_stores(postgres.url(_TEMPLATE)).close()
    return _TEMPLATE


@pytest.fixture
def postgres_url(postgres: PostgresServer, postgres_template: str) -> Iterator[str]:
    """The URL of a fresh database that has Headgate's tables."""
    name = postgres.create(postgres_template)
    yield postgres.url(name)
    postgres.drop(name)


@pytest.fixture
def empty_postgres_url(postgres: PostgresServer) -> Iterator[str]:
    """The URL of a fresh database that has nothing."""
    name = postgres.create()
    yield postgres.url(name)
    postgres.drop(name)


@pytest.fixture
def free_port() -> int:
    """A port of the loopback that nobody listens at."""
    return _free_port()


def binaries() -> Path:
    """Return the folder of the server's programs; without one the test is skipped, and under `CI` it fails."""
    found = shutil.which("postgres")
    folders = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if folders:
        return folders[0]
    if _IN_CI:
        pytest.fail("there is no PostgreSQL here", pytrace=False)
    pytest.skip("there is no PostgreSQL here; install the package `postgresql`")


def start_server(folder: Path, port: int = 0) -> PostgresServer:
    """Start a server on the cluster in the folder, which is made if there is none; port 0 takes a free one."""
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
    """End the server, and whoever is connected."""
    server.process.send_signal(signal.SIGINT)
    try:
        server.process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        server.process.send_signal(signal.SIGQUIT)
        server.process.wait()


def _user(folder: Path) -> str | None:
    """Return who the server runs as: one of root's is refused, so that root starts it as somebody else."""
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
