"""The worker of a deployment: inside the server, or apart in a process of its own that comes to a server's gateway."""

import socket
import threading
from collections.abc import Callable, Iterable
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
"""Within which a gateway takes a connection, or counts as away."""
_HERE = ("localhost", "127.0.0.1", "::1")


def worker_of(
    deployment: Deployment,
    served: Callable[[], Iterable[Organization]],
    connect: Connect,
    ready: Callable[[], bool],
    lacking: Callable[[Organization, str], str] = lambda *_: "",
    timing: WorkerSettings | None = None,
) -> Worker:
    """Return a worker of the organizations that are served, which is not started.

    `lacking` says why an organization's runs cannot begin on a cluster yet, where that is known before they try.
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
    """A process that serves nothing and carries out runs; several may share a store, a data folder and a gateway."""

    def __init__(self, settings: Settings, say: Say, timing: WorkerSettings | None = None) -> None:
        """Open the store. Without its own `timing` it has the usual one. Raises `SettingsError` or `StoreError`."""
        self._gateway = _checked(settings)
        self._say = say
        self._deployment = open_deployment(settings)
        organizations, home = self._deployment.organizations, self._deployment.home
        drivers = Drivers(organizations, home, settings.spark_organizations, settings.clusters)
        self.worker = worker_of(self._deployment, drivers.list_served, self._connect, self._answers, timing=timing)
        self._stop = threading.Event()

    def stop(self) -> None:
        """Ask it to end; from any thread or signal."""
        self._stop.set()

    def run(self) -> None:
        """Work until `stop`; runs under way are ended then, and queued again for other workers."""
        settings = self.worker.settings
        housekeeping = Housekeeping(self._deployment)
        self.worker.start(self._deployment.tasks)
        self._say(f"{settings.name} carries out {settings.slots} runs at once, on Spark at {self._gateway}")
        try:
            self._stop.wait()
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
    """Return the address of the gateway. Raises `SettingsError` where a worker apart would be of no use."""
    if settings.store_url is None:
        raise SettingsError(
            "a store in the data folder is for one process, and the server carries out runs itself; "
            "set HEADGATE_STORE to a PostgreSQL that both use, and HEADGATE_WORKER=0 for the server"
        )
    parts = urlsplit(settings.gateway)
    if parts.scheme == "http" and parts.hostname not in _HERE:
        raise SettingsError(
            f"`{settings.gateway}` in HEADGATE_GATEWAY is another machine, and secrets of runs would travel in the clear; "
            "use https"
        )
    return settings.gateway
