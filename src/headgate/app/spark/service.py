"""Spark of a server: the drivers, the gateway process in front of them, and the internal server that answers the gateway."""

import asyncio
import logging
import os
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from headgate.app.deployment import Deployment
from headgate.app.http.server import InternalServer, ServerError
from headgate.app.settings.settings import Settings
from headgate.app.spark.credentials import CredentialResolver
from headgate.app.spark.drivers import Drivers
from headgate.app.spark.sandboxes import (
    SandboxRequiredError,
    describe_unenforced,
    forbidden_files,
    prepare_driver_sandbox,
    with_own_event_logs,
)
from headgate.control.connections.commands import JdbcAccess
from headgate.control.kernel.supervision import BackgroundTask, BackgroundTasks
from headgate.control.organizations.organization import Organization
from headgate.control.pipelines.cluster_names import EMBEDDED
from headgate.endpoints.http.read_your_writes import FreshnessBarrier
from headgate.endpoints.internal.gateway import gateway_application
from headgate.endpoints.internal.guard import DECIDE
from headgate.sandbox import SandboxLevel
from headgate.sandbox.launch import find_level
from headgate.spark.abandoned_sessions import AbandonedSessions
from headgate.spark.deciding_authority import DecidingAuthority, endpoint_of
from headgate.spark.driver.clusters import Cluster
from headgate.spark.driver.config import DriverSettings, rest_lake
from headgate.spark.driver.database_relay import DatabaseRelay
from headgate.spark.driver.driver import Driver, DriverState
from headgate.spark.driver.ports import NoPortError, SessionPorts
from headgate.spark.gateway.process.config import LogLevel, ProcessConfig
from headgate.spark.gateway.process.sandbox import GatewaySandbox
from headgate.spark.gateway.process.supervisor import GatewayProcess, GatewayProcessError, GatewayState
from headgate.spark.sessions.registry import SparkRegistry
from headgate.spark.toolchain.class_archive import build_archive
from headgate.spark.toolchain.errors import ToolchainError
from headgate.spark.toolchain.prepare import Toolchain, prepare

_ENFORCED_WITHIN = 10.0
"""The most seconds between two reports of a working gateway that refused statements are ended; it reports every two."""
_LOWEST_PRIORITY = 19
"""The niceness of the process that builds the class-data archive while the first driver serves."""
_ABANDONED = "statements of lost Spark Connect sessions continue to run in Spark"
_UNWATCHED = "Spark Connect refuses calls and ends running statements, because it could not end them at a revocation"

Say = Callable[[str], None]


class SparkService:
    """Starts and stops Spark for one server. `freshness` is the barrier of its endpoints."""

    def __init__(self, deployment: Deployment, freshness: FreshnessBarrier, say: Say) -> None:
        settings = deployment.settings
        self._deployment = deployment
        self._freshness = freshness
        self._say = say
        self._drivers = Drivers(
            deployment.organizations,
            deployment.home,
            settings.spark_organizations,
            settings.clusters,
            tasks=deployment.tasks,
        )
        self.sparks = SparkRegistry(deployment.external_access_of, self._drivers.key, self._drivers.serves, self._route)
        self._relay = DatabaseRelay()
        self._session_ports = SessionPorts()
        self._level: SandboxLevel | None = None
        """The level of the sandbox that the machine enforces; None until it is determined."""
        self._knowing = CredentialResolver(deployment, self.sparks, self._drivers)
        self._abandoned = AbandonedSessions()
        self._authority = DecidingAuthority(self._knowing.resolve, lambda: self.sparks.all, self._abandoned)
        self._answering: InternalServer | None = None
        self._gateway: GatewayProcess | None = None
        self._releasing: BackgroundTask | None = None
        self._archiving: BackgroundTask | None = None

    @property
    def port(self) -> int:
        """The public port of Spark Connect; 0 before it is served."""
        return self._gateway.port if self._gateway else 0

    @property
    def inner_port(self) -> int:
        """The loopback port of Spark Connect, without TLS; 0 before it is served."""
        return self._gateway.inner_port if self._gateway else 0

    @property
    def driver_pid(self) -> int | None:
        """The process id of the home organization's embedded driver; None if it does not run."""
        return self._drivers.home.pid if self._drivers.home else None

    def list_served(self) -> Iterable[Organization]:
        """Return the organizations that have Spark on this server."""
        return self._drivers.list_served()

    @property
    def state(self) -> str:
        """The state of Spark: `ready`, or the state of the driver or gateway that is not ready."""
        home = self._drivers.home
        driver = home.state if home else DriverState.STARTING
        gateway = self._gateway.state if self._gateway else GatewayState.STARTING
        if driver is not DriverState.SERVING:
            return driver.value
        if home and not home.is_answering:
            return "unresponsive"
        return "ready" if gateway is GatewayState.SERVING else gateway.value

    @property
    def sandbox(self) -> str:
        """The level of the sandbox of Spark's processes, and what the machine does not enforce."""
        if self._level is None:
            return "starting"
        return ": ".join(each for each in (self._level.value, self._level.missing) if each)

    def not_ready_reason(self, organization: Organization, cluster: str) -> str:
        """Return why runs of an organization cannot begin on a cluster yet, or an empty text; start its driver if necessary."""
        driver, why_not = self._drivers.get(organization, cluster)
        if driver is not None and driver.ready:
            return ""
        return (
            why_not or (driver.trouble if driver else "") or f"the Spark driver on the cluster `{cluster}` is starting"
        )

    def figures(self) -> Mapping[str, Mapping[str, float]]:
        """Return the metrics of the gateway and of the drivers."""
        starts = self._gateway.starts if self._gateway else 0
        own = {"gateway_starts": {"": starts}, **self._drivers.figures}
        return {**self._authority.figures, **own} if starts else {}

    async def begin(self, inner_url: str) -> None:
        """Start the home organization's driver and the gateway; `inner_url` is the URL of the endpoints for the drivers.

        Raises `ServerError`, `DriverError` or `ToolchainError`.
        """
        settings, tasks = self._deployment.settings, self._deployment.tasks
        sandbox = await self._begin_sandbox()
        tools = await asyncio.to_thread(prepare, settings.cache, settings.jars_folder, self._say)
        key = secrets.token_urlsafe(32)
        knowing = self._knowing
        answers = gateway_application(
            self._authority, knowing.resolve_cached, key, self._freshness, knowing.record_denial
        )
        self._answering = InternalServer(answers, tasks)
        await self._answering.begin()
        config = _build_process_config(settings, self._session_ports.gateway, self._answering.url, key)
        self._gateway = GatewayProcess(config, self._forget, self._say, tasks, sandbox)
        tasks.add_check("revocation watch of the gateway", self._is_watched, _UNWATCHED)
        # Concurrently: each takes seconds to start.
        gateway = asyncio.create_task(self._gateway.start())
        try:
            await self._drivers.start_home(
                lambda organization, cluster: self._driver(organization, cluster, tools, inner_url, sandbox.level)
            )
        finally:
            await asyncio.wait({gateway})
        try:
            gateway.result()
        except GatewayProcessError as error:
            raise ServerError(
                f"Spark Connect cannot be served on port {config.port} ({error}); look for the reason in the server's log"
            ) from error
        if not tools.class_archive.exists():
            self._archiving = start_archive_build(tasks, tools, self._say)

    async def end(self) -> None:
        """Wait for active calls, at most for the drain time, then stop the drivers."""
        if self._gateway:
            await self._gateway.stop()
        for task in (self._releasing, self._archiving):
            if task:
                await task.stop()
        if self._answering:
            await self._answering.end()
        await self._drivers.end()
        self._relay.stop()

    async def _begin_sandbox(self) -> GatewaySandbox:
        """Return the gateway's sandbox, and start the relay of databases. Raises `ServerError`."""
        settings = self._deployment.settings
        try:
            level, why = await asyncio.to_thread(find_level)
            line = describe_unenforced(settings, level, why)
            ports = self._session_ports.all
        except (SandboxRequiredError, NoPortError) as error:
            raise ServerError(str(error)) from None
        if line:
            self._say(line)
        if level is SandboxLevel.FULL:
            self._relay.start(self._deployment.tasks)
        self._level = level
        return GatewaySandbox(level, ports, forbidden_files(settings, os.environ))

    def _route(self, cluster: str, access: JdbcAccess, is_allowed: Callable[[], bool]) -> JdbcAccess:
        """Return how a driver connects to a database: a sandboxed embedded driver uses the relay; executors of a cluster cannot."""
        return self._relay.route(access, is_allowed) if self._relay.port and cluster == EMBEDDED else access

    def _is_watched(self) -> bool:
        """Whether a serving gateway has enforced revocations recently. A gateway that does not serve has no statements to end."""
        gateway = self._gateway
        if gateway is None or gateway.state is not GatewayState.SERVING:
            return True
        return time.monotonic() - max(self._authority.enforced_at, gateway.serving_since) < _ENFORCED_WITHIN

    def _forget(self) -> None:
        """Close the sessions of a gateway that has ended: here, and in the drivers, where their statements may still run."""
        for spark in self.sparks.all:
            self._abandoned.add(self._drivers.name(spark.organization.id, spark.cluster), spark.sessions)
            spark.forget()

        async def release() -> None:
            found = (endpoint_of(driver) for driver in self._drivers.list_all())
            await self._abandoned.release([each for each in found if each is not None])

        if self._releasing is not None:
            self._releasing.cancel()
        self._releasing = self._deployment.tasks.start_task("release of abandoned sessions", release, _ABANDONED)

    def _driver(
        self, organization: Organization, cluster: Cluster, tools: Toolchain, inner_url: str, level: SandboxLevel
    ) -> Driver:
        settings, home = self._deployment.settings, organization is self._deployment.home
        cluster = with_own_event_logs(cluster, organization)
        ports = (urlsplit(inner_url).port, self._relay.port)
        connects = tuple(port for port in ports if port)
        sandbox = prepare_driver_sandbox(self._deployment, organization, cluster, level, connects, os.environ)
        cluster_folder = Path("clusters") / cluster.name if cluster.is_remote else Path()
        logs = cluster_folder if home else organization.id / cluster_folder
        settings_of_it = DriverSettings(
            tools=tools,
            log=settings.folder / "logs" / logs / "driver.log",
            scratch=settings.folder / "scratch" / organization.id / "driver" / cluster_folder,
            decision_url=f"{inner_url}{DECIDE}",
            name=("home" if home else organization.id) + (f"@{cluster.name}" if cluster.is_remote else ""),
            conf=rest_lake(f"{inner_url}/iceberg"),
            cluster=cluster,
            sandbox=sandbox,
            statement_seconds=settings.spark_statement_seconds,
            free_disk_mib=settings.spark_free_disk_mib,
        )
        return Driver(settings_of_it, self._say, self._deployment.tasks, self._session_ports)


def start_archive_build(tasks: BackgroundTasks, tools: Toolchain, say: Say) -> BackgroundTask:
    """Build the class-data archive in the background, with which the next drivers start faster; report a failure in one line."""

    async def build() -> None:
        try:
            await build_archive(tools.java, tools.jars, tools.class_archive, _LOWEST_PRIORITY)
        except ToolchainError as error:
            say(str(error))

    return tasks.start_task("build of the class-data archive", build, "")


def _build_process_config(settings: Settings, inner_port: int, authority: str, key: str) -> ProcessConfig:
    return ProcessConfig(
        host=settings.bind,
        port=settings.gateway_port,
        inner_port=inner_port,
        authority=authority,
        key=key,
        tls_cert=settings.tls_cert,
        tls_key=settings.tls_key,
        drain_seconds=settings.drain_seconds,
        log=settings.log,
        log_level=_log_level(),
    )


def _log_level() -> LogLevel:
    """Return the log level of this process, which may be higher than that of the settings."""
    level = logging.getLogger().getEffectiveLevel()
    if level >= logging.ERROR:
        return "error"
    if level >= logging.WARNING:
        return "warning"
    return "info" if level >= logging.INFO else "debug"
