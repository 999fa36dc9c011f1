"""PostgreSQL from its packages, as a private server on an empty folder, with its default durability."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg

from bench.decision_engines.server import free_port

_USER = "postgres"
_START_SECONDS = 30


class Postgres:
    """A running server with one database."""

    def __init__(self) -> None:
        """Start the server and wait until it answers."""
        programs = _programs()
        self._folder = tempfile.TemporaryDirectory(prefix="headgate-postgres-")
        folder = Path(self._folder.name)
        # PostgreSQL refuses to run as root.
        self._user = _USER if os.geteuid() == 0 else None
        if self._user:
            shutil.chown(folder, _USER, _USER)
        made = (programs / "initdb", "-D", folder / "data", "-U", _USER, "-A", "trust", "-E", "UTF8", "--no-locale")
        subprocess.run(made, check=True, cwd=folder, user=self._user, stdout=subprocess.DEVNULL)
        port = free_port()
        self.url = f"postgresql://{_USER}@127.0.0.1:{port}/postgres"
        settings = ("listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=200")
        self._process = subprocess.Popen(
            (
                programs / "postgres",
                "-D",
                folder / "data",
                "-p",
                str(port),
                *(each for it in settings for each in ("-c", it)),
            ),
            cwd=folder,
            user=self._user,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._wait()

    @staticmethod
    def missing() -> str | None:
        """Return that PostgreSQL is not installed, or None."""
        return None if _found() else "there is no PostgreSQL (Debian's package `postgresql`)"

    def _wait(self) -> None:
        ends = time.monotonic() + _START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > ends:
                self.close()
                raise RuntimeError("PostgreSQL did not start")
            time.sleep(0.05)

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url).close()
        except psycopg.OperationalError:
            return False
        return True

    def close(self) -> None:
        """Stop the server, and close all connections."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait()
        self._folder.cleanup()


def _found() -> list[Path]:
    on_path = shutil.which("postgres")
    return [Path(on_path).parent] if on_path else sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


def _programs() -> Path:
    return _found()[0]
