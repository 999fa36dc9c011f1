"""One replica without Spark: the server of a deployment, in threads of this process or as a separate process."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path

from headgate.app.background import run_in_background
from headgate.app.settings.settings import Settings
from headgate.endpoints.api.routes import api_routes

api_routes()
"""Build the routes before replicas are forked from this process, so that no replica has to build them."""


def settings_of(folder: Path, store_url: str | None) -> Settings:
    """Return the settings of a replica with a separate folder."""
    return Settings(folder, folder / "cache", None, api_port=0, gateway_port=0, store_url=store_url, spark=False)


def machine(folder: Path, name: str) -> Path:
    """Return the data folder of a further machine of a deployment, with a copy of the deployment's keys."""
    shutil.copytree(folder / "keys", folder / name / "keys", dirs_exist_ok=True)
    return folder / name


@contextmanager
def replica(folder: Path, store_url: str | None = None) -> Iterator[str]:
    """Serve a deployment from threads of this process; yields its address."""
    with run_in_background(settings_of(folder, store_url), print) as server:
        yield server.url


def serve(folder: Path, store_url: str | None, ready: Connection) -> None:
    """Serve until the other end of `ready`, which gets the address, is closed."""
    with replica(folder, store_url) as address:
        ready.send(address)
        with suppress(EOFError):
            ready.recv()
