"""The worker of a deployment: inside the server, or in a separate process that uses the gateway of a server."""

import socket
from collections.abc import Callable, Iterable
from queue import SimpleQueue
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from headgate.app.deployment import Deployment, open_deployment
from headgate.app.http.lakes import file_parsers
from headgate.app.maintenance import Housekeeping
from headgate.app.settings.settings import SPARK_PORT, Settings, SettingsError
from headgate.app.spark.drivers import Drivers
from headgate.control.organizations.organization import Organization
from headgate.pipelines.execution.spark_executor import Connect, SparkExecutor
from headgate.pipelines.execution.worker import Worker, WorkerSettings
from headgate.pipelines.lineage.emitter import Receiver, Sending
from headgate.pipelines.lineage.recorder import LineageRecorder

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

Say = Callable[[str], None]

_LOOK_SECONDS = 1.0
"""Seconds after which a gateway that accepts no connection counts as unavailable."""
_HERE = ("localhost", "127.0.0.1", "::1")


def worker_of(
    deployment: Deployment,
    served: Callable[[], Iterable[Organization]],
    connect: Connect,
    ready: Callable[[], bool],
    lacking: Callable[[Organization, str], str] = lambda *_: "",
    timing: WorkerSettings | None = None,
) -> Worker:
    """Return a worker for the served organizations. It is not started.

    `lacking` returns why runs of an organization cannot begin on a cluster yet, or an empty text.
    """
    settings = deployment.settings
    receiver = settings.openlineage_url
    sending = Sending(Receiver(receiver, settings.openlineage_key), tasks=deployment.tasks) if receiver else None
    return Worker(
        deployment.organizations.refresh,
        served,
        SparkExecutor(connect, deployment.external_access_of, file_parsers()),
        timing or WorkerSettings(slots=settings.worker_slots),
        settings.clusters.at_once,
        ready,
        lacking,
        LineageRecorder(sending.send, sending.close) if sending else LineageRecorder(),
    )


class StandaloneWorker:
    """A separate process that executes runs. Several may share a store, a data folder and a gateway."""

    def __init__(self, settings: Settings, say: Say, timing: WorkerSettings | None = None) -> None:
        """Open the store. `timing` replaces the default timing. Raises `SettingsError` or `StoreError`."""
        self._gateway = _checked(settings)
        self._say = say
        self._deployment = open_deployment(settings)
        organizations, home = self._deployment.organizations, self._deployment.home
        drivers = Drivers(organizations, home, settings.spark_organizations, settings.clusters)
        self.worker = worker_of(self._deployment, drivers.list_served, self._connect, self._answers, timing=timing)
        # A signal handler interrupts the thread that waits. It must not need a lock that this thread may hold, as that of an
        # event; `SimpleQueue` is reentrant.
        self._stops = SimpleQueue[None]()

    def stop(self) -> None:
        """Ask the worker to stop. Can be called in any thread or signal handler."""
        self._stops.put(None)

    def run(self) -> None:
        """Execute runs until `stop` is called. Active runs are then stopped, and queued again for other workers."""
        settings = self.worker.settings
        housekeeping = Housekeeping(self._deployment)
        self.worker.start(self._deployment.tasks)
        self._say(f"{settings.name} executes up to {settings.slots} runs at once, on Spark at {self._gateway}")
        try:
            self._stops.get()
        finally:
            self.worker.stop()
            housekeeping.close()
            self._deployment.close()

    def _connect(self, token: str) -> "SparkSession":
        from headgate.spark.sql.client import connect_to

        return connect_to(self._gateway, token)

    def _answers(self) -> bool:
        parts = urlsplit(self._gateway)
        try:
            socket.create_connection((parts.hostname, parts.port or SPARK_PORT), _LOOK_SECONDS).close()
        except OSError:
            return False
        return True


def _checked(settings: Settings) -> str:
    """Return the URL of the gateway. Raises `SettingsError` if the settings do not permit a separate worker."""
    if settings.store_url is None:
        raise SettingsError(
            "a separate worker needs a PostgreSQL store, but the store is in the data folder: only one process can use it, and "
            "the server executes runs itself; "
            "set HEADGATE_STORE to the same PostgreSQL for server and worker, and HEADGATE_WORKER=0 for the server"
        )
    parts = urlsplit(settings.gateway)
    if parts.scheme == "http" and parts.hostname not in _HERE:
        raise SettingsError(
            f"`{settings.gateway}` in HEADGATE_GATEWAY is on another machine, and secrets of runs would be sent unencrypted; "
            "use an `https://` URL"
        )
    return settings.gateway
