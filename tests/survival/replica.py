"""One replica without Spark: every HTTP door of a deployment, in threads or as a process of its own."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path

from starlette.types import ASGIApp

from headgate.app.deployment import Deployment, open_deployment
from headgate.app.doors import http_application
from headgate.app.fronted import fronted
from headgate.app.settings import Settings
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId, RunId
from headgate.spark.driver_calls import DriverCalls
from headgate.spark.sessions import Sessions
from headgate.spark.statements import StatementError
from tests.app.world import KEY, NoSpark
from tests.threads import served


class NoRuns:
    """Starts no run, for want of Spark."""

    def start(self, pipeline: ResourceId, caller: Caller) -> RunId:
        """Refuse."""
        raise StatementError("no Spark in this test", None, "UNAVAILABLE")


def settings_of(folder: Path, store_url: str | None) -> Settings:
    """Return the settings of a replica with a folder of its own."""
    return Settings(folder, folder / "cache", None, api_port=0, gateway_port=0, store_url=store_url)


def application(deployment: Deployment) -> ASGIApp:
    """Return the doors of a deployment as the network has them."""
    calls = DriverCalls(lambda: KEY, Sessions())
    return fronted(http_application(deployment, calls, NoRuns(), NoSpark(), lambda: {"api": "ok"}), deployment).app


@contextmanager
def replica(folder: Path, store_url: str | None = None) -> Iterator[str]:
    """Serve a deployment from threads of this process; gives its address."""
    deployment = open_deployment(settings_of(folder, store_url))
    try:
        with served(application(deployment)) as address:
            yield address
    finally:
        deployment.close()


def serve(folder: Path, store_url: str | None, ready: Connection) -> None:
    """Serve in a process of its own until whoever is at the other end of `ready`, and gets the address, has gone."""
    with replica(folder, store_url) as address:
        ready.send(address)
        with suppress(EOFError):
            ready.recv()
