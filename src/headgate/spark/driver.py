"""The supervisor of the Spark driver: one JVM child that serves only while the guard is proven to be in it."""

import asyncio
import enum
import os
import secrets
import socket
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from headgate.spark.canary import CanaryError, is_answering, require_guarded
from headgate.spark.jars import spark_jars
from headgate.spark.supervising import Supervisor

_KEY_BYTES = 32
_MEMORY = "1g"
_START_WITHIN = 90.0
_STOP_WITHIN = 5.0
_BACK_OFF = (1.0, 2.0, 5.0, 10.0, 30.0)
_EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions,io.headgate.guard.GuardExtensions"
"""Iceberg brings views, branches and partition fields; the guard stands last, so that it sees what they became."""
_OPENED = [
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.io",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "jdk.internal.ref",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar",
]
"""The packages of java.base that Spark reaches into (its own `JavaModuleOptions`)."""


class DriverError(Exception):
    """The Spark driver cannot serve, and the message says what to do about it."""


class DriverState(enum.Enum):
    """Whether sessions can be opened now."""

    STOPPED = "stopped"
    STARTING = "starting"
    SERVING = "serving"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class DriverSettings:
    """What one driver is started with. `conf` is Spark configuration beside what is fixed, the lake's above all."""

    java: Path
    guard_jar: Path
    iceberg_jar: Path
    log: Path
    scratch: Path
    decision_url: str
    name: str = "main"
    """What it is called among the drivers."""
    conf: Mapping[str, str] = field(default_factory=dict[str, str])


def rest_lake(api: str) -> dict[str, str]:
    """Return the configuration of a lake behind the Iceberg REST catalog at `api` (`http://127.0.0.1:8020/iceberg`)."""
    lake = "spark.sql.catalog.lake"
    return {
        f"{lake}.type": "rest",
        f"{lake}.uri": api,
        f"{lake}.rest.auth.type": "io.headgate.guard.SignedAuthManager",
        f"{lake}.io-impl": "io.headgate.guard.GuardedFileIO",
    }


class Driver:
    """One JVM at a time. Each has a key, a token and a port of its own; `generation` counts them."""

    def __init__(self, settings: DriverSettings, say: Callable[[str], None] = lambda _: None) -> None:
        """`say` hears one line whenever the driver dies, comes back or cannot."""
        self._settings = settings
        self._say = say
        self._process: Process | None = None
        self._supervision: asyncio.Task[None] | None = None
        self._port = 0
        self.state = DriverState.STOPPED
        self.generation = 0
        self.key = b""
        self.token = ""

    @property
    def name(self) -> str:
        """What it is called among the drivers."""
        return self._settings.name

    @property
    def address(self) -> str:
        """Where the driver's Connect server listens."""
        return f"127.0.0.1:{self._port}"

    @property
    def ready(self) -> bool:
        """Whether the driver serves now."""
        return self.state is DriverState.SERVING

    @property
    def pid(self) -> int | None:
        """The JVM's process id, if there is one."""
        return self._process.pid if self._process else None

    async def start(self) -> None:
        """Start the JVM and return when it serves. Raises `DriverError` if it does not come up guarded."""
        await self._launch()
        self._supervision = asyncio.create_task(self._supervise())

    async def stop(self) -> None:
        """End the JVM: ask first, then kill. Returns when it is gone."""
        if self._supervision:
            self._supervision.cancel()
            with suppress(asyncio.CancelledError):
                await self._supervision
        await self._end()
        self.state = DriverState.STOPPED

    async def _launch(self) -> None:
        self.state = DriverState.STARTING
        self.key, self.token, self._port = secrets.token_bytes(_KEY_BYTES), secrets.token_urlsafe(32), _free_port()
        self.generation += 1
        try:
            self._process = await self._spawn()
            await self._until(self._process, is_answering(self.address, _START_WITHIN))
            await self._until(self._process, require_guarded(self.address, self.token))
        except BaseException:
            await self._end()
            self.state = DriverState.DOWN
            raise
        self.state = DriverState.SERVING

    async def _spawn(self) -> Process:
        settings = self._settings
        settings.scratch.mkdir(parents=True, exist_ok=True)
        settings.log.parent.mkdir(parents=True, exist_ok=True)
        with settings.log.open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *_command(settings),
                stdin=PIPE,
                stdout=log,
                stderr=log,
                cwd=settings.scratch,
                env=_environment(),
                start_new_session=True,
            )
        if process.stdin:
            process.stdin.write(self._secrets().encode())
            with suppress(ConnectionError):
                await process.stdin.drain()
        return process

    def _secrets(self) -> str:
        """What the JVM reads first; nothing of it stands in arguments, environment or a file."""
        properties = _fixed(self._settings) | {
            "spark.connect.grpc.binding.port": str(self._port),
            "spark.connect.authenticate.token": self.token,
            "headgate.decision.url": self._settings.decision_url,
        }
        lines = (f"{key}={value}" for key, value in properties.items())
        return "\n".join((self.key.hex(), *lines, "", ""))

    async def _until(self, process: Process, ready: Awaitable[None]) -> None:
        """Wait for `ready`; the JVM's death or a failed canary ends the wait."""
        waiting, dying = asyncio.ensure_future(ready), asyncio.ensure_future(process.wait())
        try:
            await asyncio.wait((waiting, dying), return_when=asyncio.FIRST_COMPLETED)
            if not waiting.done():
                message = (
                    f"the Spark driver ended while starting (code {process.returncode}): see `{self._settings.log}`"
                )
                raise DriverError(message)
            waiting.result()
        except CanaryError as error:
            message = f"{error}: see `{self._settings.log}`"
            raise DriverError(message) from error
        finally:
            waiting.cancel()
            dying.cancel()

    async def _supervise(self) -> None:
        supervisor = Supervisor(self._launch, (DriverError, OSError), _BACK_OFF, self._say)
        await supervisor.keep_up(lambda: self._process, self._ended, self._again)

    def _ended(self, code: int) -> str:
        self.state = DriverState.DOWN
        return f"the Spark driver ended (code {code}); its sessions are gone; starting another"

    def _again(self) -> str:
        return f"the Spark driver serves again, as number {self.generation}"

    async def _end(self) -> None:
        process = self._process
        if process is None or process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), _STOP_WITHIN)
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _command(settings: DriverSettings) -> tuple[str, ...]:
    jars = (str(settings.guard_jar), str(settings.iceberg_jar), f"{spark_jars()}{os.sep}*")
    return (
        str(settings.java),
        f"-Xmx{_MEMORY}",
        "-XX:+UseParallelGC",
        "-XX:+ExitOnOutOfMemoryError",
        "-XX:+IgnoreUnrecognizedVMOptions",
        "-Xshare:auto",
        f"-Djava.io.tmpdir={settings.scratch}",
        "-Djdk.reflect.useDirectMethodHandle=false",
        "-Dio.netty.tryReflectionSetAccessible=true",
        "--enable-native-access=ALL-UNNAMED",
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
        "-cp",
        os.pathsep.join(jars),
        "io.headgate.guard.Main",
    )


def _environment() -> dict[str, str]:
    """Return the few variables that a JVM needs; what else the parent has in its environment is not the driver's."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "LC_ALL", "TZ") if name in os.environ}
    return kept | {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_USER": "headgate"}


def _fixed(settings: DriverSettings) -> dict[str, str]:
    """Return the configuration of every driver; what guards it stands last and cannot be overridden."""
    return {
        "spark.master": "local[*]",
        "spark.app.name": "headgate",
        "spark.sql.shuffle.partitions": "8",
        **settings.conf,
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(settings.scratch),
        "spark.sql.warehouse.dir": str(settings.scratch / "unused"),
        "spark.checkpoint.dir": str(settings.scratch / "checkpoints"),
        "spark.cleaner.referenceTracking.cleanCheckpoints": "true",
        "spark.sql.extensions": _EXTENSIONS,
        "spark.sql.catalog.lake": "io.headgate.guard.GuardedCatalog",
        "spark.sql.catalog.lake.cache-enabled": "false",
        "spark.sql.defaultCatalog": "lake",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.runSQLOnFiles": "false",
        "spark.sql.variable.substitute": "false",
        "spark.sql.scripting.enabled": "true",
        "spark.sql.artifact.isolation.enabled": "true",
        "spark.sql.streaming.forceDeleteTempCheckpointLocation": "true",
        "spark.sql.connect.serverStacktrace.enabled": "false",
        "spark.connect.grpc.binding.address": "127.0.0.1",
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
