"""One replica without Spark: every HTTP door of a deployment, as a process of its own.

`python -m tests.survival.replica FOLDER [STORE_URL]` prints its address when it answers, and ends with its standard input.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
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


def main(folder: str, store_url: str | None = None) -> None:
    """Serve until the standard input ends, as it does when whoever started this has gone."""
    with replica(Path(folder), store_url) as address:
        sys.stdout.write(f"{address}\n")
        sys.stdout.flush()
        ended = threading.Event()
        threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
        ended.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
