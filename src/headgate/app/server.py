"""The server: starts the HTTP endpoints, then the Spark driver and the gateway, and shuts them down in order."""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from headgate.app.deployment import Deployment, open_deployment
from headgate.app.http.application import http_application
from headgate.app.http.middleware import ServedApp, build_front
from headgate.app.http.server import HttpServer, listen
from headgate.app.maintenance import Housekeeping
from headgate.app.settings.settings import Settings
from headgate.app.spark.service import SparkService
from headgate.app.worker import worker_of
from headgate.control.kernel.supervision import BackgroundTasks
from headgate.endpoints.http.read_your_writes import FreshnessBarrier
from headgate.spark.authority import PresentedCredential
from headgate.spark.sessions.result_privileges import ResultPrivileges
from headgate.spark.sql.statements import (
    NO_SPARK,
    NOT_READY,
    WITHOUT_SPARK,
    Execution,
    StatementError,
    StatementRequest,
)

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

    from headgate.spark.sql.client import Statements

Say = Callable[[str], None]


class Server:
    """One deployment that serves. It is constructed in one thread and runs in one event loop."""

    def __init__(self, settings: Settings, say: Say) -> None:
        """Open the data folder and bind the ports. Raises `StoreError` or `ServerError`."""
        self._say = say
        self._began = time.monotonic()
        self.settings = settings
        if settings.spark:
            # Bound for a moment, so that a port in use is reported now and not after the start of Spark.
            listen(settings.bind, settings.gateway_port, "HEADGATE_SPARK_PORT").close()
        tasks = BackgroundTasks()
        self._listening = HttpServer(settings, tasks)
        self.api_port = self._listening.port
        try:
            self.deployment: Deployment = open_deployment(settings, self.url, tasks)
        except BaseException:
            self._listening.close()
            raise
        self._freshness = FreshnessBarrier(self.deployment.organizations, shares_checks=not settings.tls)
        self._side = SparkService(self.deployment, self._freshness, say)
        self._statements = _Statements(self._spark_port, self._side.sparks.result_privileges.register)
        self._stop = asyncio.Event()
        side = self._side
        self.worker = worker_of(
            self.deployment, side.list_served, self._connect, lambda: side.state == "ready", side.not_ready_reason
        )

    @property
    def url(self) -> str:
        """The URL of the HTTP endpoints."""
        return self._listening.url

    @property
    def gateway_port(self) -> int:
        """The public port of Spark Connect; 0 before it is served."""
        return self._side.port

    @property
    def driver_pid(self) -> int | None:
        """The process id of the home organization's driver; None if it does not run."""
        return self._side.driver_pid

    def health(self) -> Mapping[str, Any]:
        """Return the health document: the state of the API and of Spark, and the port of Spark Connect."""
        state = self._side.state if self.settings.spark else "off"
        return {"api": "ok", "spark": state, "spark_port": self.gateway_port}

    def stop(self) -> None:
        """Ask the server to stop. Call it in the server's event loop."""
        self._stop.set()

    def hang_up(self) -> None:
        """Handle SIGHUP: reload the certificate if there is one, else stop, as when a terminal closes."""
        if self._listening.certificate:
            self._listening.certificate.renew()
        else:
            self.stop()

    async def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until `stop` is called. Raises `ServerError` or the driver's error if Spark cannot be started."""
        front = self._front()
        housekeeping = Housekeeping(self.deployment)
        serving = asyncio.create_task(self._listening.serve(front))
        spark = asyncio.create_task(self._start_spark(ready))
        announcing = asyncio.create_task(self._announce())
        stopping = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait({serving, stopping, spark}, return_when=asyncio.FIRST_COMPLETED)
            if spark.done() and not self._stop.is_set():
                spark.result()
                await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            spark.cancel()
            stopping.cancel()
            announcing.cancel()
            # An error of the start of Spark was raised above; an error of its cancellation has no information.
            with suppress(asyncio.CancelledError, Exception):
                await spark
            front.readiness.draining = True
            await self._end_spark()
            self._listening.end()
            await serving
            housekeeping.close()
            self.deployment.close()

    def _front(self) -> ServedApp:
        app = http_application(
            self.deployment, self._freshness, self._side.sparks, self.worker, self._statements, self.health
        )
        front = build_front(app, self.deployment, self._side.sparks.caller, self._side.figures)
        if self.settings.spark:
            front.readiness.details = lambda: {"spark": self._side.state, "sandbox": self._side.sandbox}
        return front

    async def _announce(self) -> None:
        await self._listening.answering.wait()
        self._say(f"API at {self.url}/api/v1 after {self._seconds():.1f} s")

    async def _start_spark(self, ready: Callable[[], None]) -> None:
        if not self.settings.spark:
            await self._listening.answering.wait()
            ready()
            return
        loading = asyncio.create_task(asyncio.to_thread(_load_client))
        await self._side.begin(self._listening.inner_url)
        await loading
        self._say(f"Spark at sc://localhost:{self.gateway_port} after {self._seconds():.1f} s")
        if self.settings.worker:
            self.worker.start(self.deployment.tasks)
        ready()

    async def _end_spark(self) -> None:
        await asyncio.to_thread(self.worker.stop)
        await asyncio.to_thread(self._statements.close)
        await self._side.end()

    def _connect(self, token: str) -> "SparkSession":
        from headgate.spark.sql.client import connect

        if not self._side.inner_port:
            raise ConnectionError(NOT_READY)
        return connect(self._side.inner_port, token)

    def _spark_port(self) -> int:
        if not self.settings.spark:
            raise StatementError(WITHOUT_SPARK, None, NO_SPARK)
        if not self._side.inner_port:
            raise StatementError(NOT_READY, None, "UNAVAILABLE")
        return self._side.inner_port

    def _seconds(self) -> float:
        return time.monotonic() - self._began


class _Statements:
    """SQL over HTTP. PySpark is loaded at the first statement."""

    def __init__(self, port: Callable[[], int], register: Callable[[str], ResultPrivileges]) -> None:
        self._port = port
        self._register = register
        self._loaded: Statements | None = None

    def begin(self, credential: PresentedCredential, wanted: StatementRequest) -> Execution:
        """Start a statement and return its execution. Raises `StatementError` while Spark is not available."""
        from headgate.spark.sql.client import Statements

        self._port()
        self._loaded = self._loaded or Statements(self._port, self._register)
        return self._loaded.begin(credential, wanted)

    def close(self) -> None:
        """Close the Spark sessions."""
        if self._loaded:
            self._loaded.close()


def _load_client() -> None:
    """Load PySpark while the driver starts, so that no statement waits for the second that it takes."""
    import headgate.spark.sql.client  # noqa: F401 (imported to load it)
