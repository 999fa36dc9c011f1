"""Serving: the HTTP doors first, then the Spark driver and the gateway in front of it; and an orderly end."""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from headgate.app.deployment import Deployment, open_deployment
from headgate.app.doors import http_application
from headgate.app.fronted import Front, fronted
from headgate.app.housekeeping import Housekeeping
from headgate.app.listening import Listening, ServerError, listen
from headgate.app.settings import HOST, Settings
from headgate.facts.caller import Caller
from headgate.pipelines.runner import Runner
from headgate.spark.driver import Driver, DriverSettings, rest_lake
from headgate.spark.sparks import Sparks
from headgate.spark.statements import NOT_READY, Reading, StatementError, Wanted
from headgate.spark.toolchain import prepare

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

    from headgate.spark.client import Statements
    from headgate.spark.gateway.server import Gateway

Say = Callable[[str], None]


class Server:
    """One deployment, serving. Made in one thread and run in one event loop."""

    def __init__(self, settings: Settings, say: Say) -> None:
        """Open the data folder and take the ports. Raises `StoreError` or `ServerError`."""
        self._say = say
        self._began = time.monotonic()
        self.settings = settings
        if settings.spark:
            # Tried now, so that nobody waits for Spark to hear that its port is taken.
            listen(HOST, settings.gateway_port, "HEADGATE_SPARK_PORT").close()
        self._listening = Listening(settings)
        self.api_port = self._listening.port
        self.gateway_port = 0
        try:
            self.deployment: Deployment = open_deployment(settings, self.url)
        except BaseException:
            self._listening.close()
            raise
        self._sparks = Sparks(self.deployment.may_read, lambda _: self._driver.key if self._driver else b"")
        self._driver: Driver | None = None
        self._gateway: Gateway | None = None
        self._statements = _Statements(self._spark_port)
        self._stop = asyncio.Event()
        deployment = self.deployment
        self.runner = Runner(deployment.home, deployment.identity, deployment.places, self._connect)
        if settings.spark:
            self.runner.end_left_over()

    @property
    def url(self) -> str:
        """The address of the HTTP doors."""
        return self._listening.url

    def health(self) -> Mapping[str, Any]:
        """Return whether Spark can be used now."""
        state = self._driver.state.value if self._driver else "starting" if self.settings.spark else "off"
        ready = self._gateway is not None and self._driver is not None and self._driver.ready
        return {"api": "ok", "spark": "ready" if ready else state, "spark_port": self.gateway_port}

    def stop(self) -> None:
        """Ask the server to end; from its own event loop."""
        self._stop.set()

    def hang_up(self) -> None:
        """Read the certificate again where there is one, as operators ask for it; else end, as a terminal does."""
        if self._listening.certificate:
            self._listening.certificate.renew()
        else:
            self.stop()

    async def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until `stop`. Raises `ServerError` or the driver's own error if Spark cannot be had."""
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
            # What kept Spark from starting was raised above; what its cancelling raises tells nobody anything.
            with suppress(asyncio.CancelledError, Exception):
                await spark
            front.readiness.draining = True
            await self._end_spark()
            self._listening.end()
            await serving
            housekeeping.close()
            self.deployment.close()

    def _front(self) -> Front:
        app = http_application(self.deployment, self._sparks, self.runner, self._statements, self.health)
        return fronted(app, self.deployment, self._sparks.caller)

    async def _announce(self) -> None:
        await self._listening.answering.wait()
        self._say(f"API at {self.url}/api/v1 after {self._seconds():.1f} s")

    async def _start_spark(self, ready: Callable[[], None]) -> None:
        if not self.settings.spark:
            await self._listening.answering.wait()
            ready()
            return
        settings, inner = self.settings, self._listening.inner_url
        tools = await asyncio.to_thread(prepare, settings.cache, settings.jars_folder, self._say)
        self._driver = Driver(
            DriverSettings(
                java=tools.java,
                guard_jar=tools.guard_jar,
                iceberg_jar=tools.iceberg_jar,
                log=settings.folder / "logs" / "driver.log",
                scratch=settings.folder / "scratch",
                decision_url=f"{inner}/guard/v1/decide",
                conf=rest_lake(f"{inner}/iceberg"),
            ),
            self._say,
        )
        loading = asyncio.create_task(asyncio.to_thread(_load_clients))
        await self._driver.start()
        await loading
        await self._open_gateway(self._driver)
        self._say(f"Spark at sc://localhost:{self.gateway_port} after {self._seconds():.1f} s")
        ready()

    async def _open_gateway(self, driver: Driver) -> None:
        from headgate.spark.gateway.server import Gateway, GatewaySettings

        deployment = self.deployment
        self._gateway = Gateway(
            GatewaySettings(HOST, self.settings.gateway_port),
            self._authenticate,
            deployment.places.may_read,
            self._sparks.of(deployment.home).sessions,
            driver,
        )
        try:
            self.gateway_port = await self._gateway.start()
        except RuntimeError as error:
            port = self.settings.gateway_port
            raise ServerError(f"port {port} is in use; end what holds it, or set HEADGATE_SPARK_PORT") from error

    async def _end_spark(self) -> None:
        self.runner.stop()
        await asyncio.to_thread(self._statements.close)
        if self._gateway:
            await self._gateway.stop(grace=1)
        if self._driver:
            await self._driver.stop()

    def _authenticate(self, token: str) -> Caller | None:
        deployment = self.deployment
        deployment.organizations.refresh()
        found = deployment.identity.authenticate(token)
        return deployment.home.caller(found) if found else None

    def _connect(self, token: str) -> "SparkSession":
        from headgate.spark.client import connect

        return connect(self._spark_port(), token)

    def _spark_port(self) -> int:
        if not self.gateway_port:
            raise StatementError(NOT_READY, None, "UNAVAILABLE")
        return self.gateway_port

    def _seconds(self) -> float:
        return time.monotonic() - self._began


class _Statements:
    """SQL over HTTP, with PySpark loaded at the first statement."""

    def __init__(self, port: Callable[[], int]) -> None:
        self._port = port
        self._loaded: Statements | None = None

    def begin(self, token: str, wanted: Wanted) -> Reading:
        """Return a statement that is about to run. Raises `StatementError` while there is no Spark."""
        from headgate.spark.client import Statements

        self._port()
        self._loaded = self._loaded or Statements(self._port)
        return self._loaded.begin(token, wanted)

    def close(self) -> None:
        """End its sessions."""
        if self._loaded:
            self._loaded.close()


def _load_clients() -> None:
    """Load PySpark while the driver starts: it takes a second that nobody then waits for."""
    import headgate.spark.client
    import headgate.spark.gateway.server  # noqa: F401 (loaded for later)
