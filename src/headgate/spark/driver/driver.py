"""The supervisor of the Spark driver: one JVM child that serves only while the guard is proven to be in it."""

import asyncio
import enum
import secrets
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable
from contextlib import suppress

from headgate.control.kernel.supervision import BackgroundTask, BackgroundTasks
from headgate.spark.driver.config import DriverSettings, build_properties, environment
from headgate.spark.driver.guard_probe import (
    GuardProbeError,
    require_guarded,
    require_token_enforced,
    wait_until_listening,
)
from headgate.spark.driver.liveness import Liveness
from headgate.spark.driver.ports import DriverPorts, NoPortError, SessionPorts
from headgate.spark.driver.sandbox import driver_command
from headgate.spark.driver.standalone_master import NoMasterError, require_master, wait_until_lost
from headgate.spark.process_supervisor import Supervisor

_KEY_BYTES = 32
_START_WITHIN = 90.0
_REMOTE_START_WITHIN = 300.0
"""A master may have to find room, or a container, first."""
_STOP_WITHIN = 5.0
_BACK_OFF = (1.0, 2.0, 5.0, 10.0, 30.0)
_NO_PORTS = DriverPorts(0, 0, 0)


class DriverError(Exception):
    """The Spark driver cannot serve, and the message says what to do about it."""


class DriverState(enum.Enum):
    """Whether sessions can be opened now."""

    STOPPED = "stopped"
    STARTING = "starting"
    SERVING = "serving"
    DOWN = "down"


class Driver:
    """One JVM at a time. Each has a key, a token and a port of its own; `generation` counts them."""

    def __init__(
        self,
        settings: DriverSettings,
        say: Callable[[str], None] = lambda _: None,
        tasks: BackgroundTasks | None = None,
        session_ports: SessionPorts | None = None,
    ) -> None:
        """`say` hears one line whenever the driver dies, comes back or cannot. `session_ports` are shared by all drivers."""
        self._settings = settings
        self._session_ports = session_ports or SessionPorts()
        self._say = say
        self._process: Process | None = None
        self._tasks = tasks or BackgroundTasks()
        self._supervision: BackgroundTask | None = None
        self._liveness: Liveness | None = None
        self._watches = list[BackgroundTask]()
        self._ports = _NO_PORTS
        self.state = DriverState.STOPPED
        self.generation = 0
        self.hangs = 0
        """How often it was killed because it did not answer."""
        self.key = b""
        self.token = ""
        self.trouble = ""
        """Why it does not serve, if it has failed to."""

    @property
    def name(self) -> str:
        """What it is called among the drivers."""
        return self._settings.name

    @property
    def address(self) -> str:
        """Where the driver's Connect server listens."""
        return f"127.0.0.1:{self._ports.connect}"

    @property
    def ready(self) -> bool:
        """Whether the driver serves now."""
        return self.state is DriverState.SERVING

    @property
    def is_answering(self) -> bool:
        """Whether it answers its supervisor in time, as far as that has asked."""
        return self._liveness is None or self._liveness.is_answering

    @property
    def pid(self) -> int | None:
        """The JVM's process id, if there is one."""
        return self._process.pid if self._process and self._process.returncode is None else None

    async def start(self) -> None:
        """Start the JVM and return when it serves. Raises `DriverError` if it does not come up guarded."""
        await self._launch()
        self._supervision = self._tasks.start_task(
            f"supervision of the driver {self.name}", self._supervise, "a Spark driver that ends is not started again"
        )

    async def stop(self) -> None:
        """End the JVM: ask first, then kill. Returns when it is gone."""
        self.state = DriverState.STOPPED
        if self._supervision:
            await self._supervision.stop()
        await self._terminate()

    async def _launch(self) -> None:
        self.state = DriverState.STARTING
        self.key, self.token = secrets.token_bytes(_KEY_BYTES), secrets.token_urlsafe(32)
        self.generation += 1
        within = _REMOTE_START_WITHIN if self._settings.cluster.is_remote else _START_WITHIN
        try:
            await self._require_master()
            self._ports = self._chosen_ports()
            self._process = await self._spawn()
            await self._wait_for(self._process, wait_until_listening(self.address, within))
            await self._wait_for(self._process, require_token_enforced(self.address))
            await self._wait_for(self._process, require_guarded(self.address, self.token))
        except BaseException as error:
            await self._terminate()
            self.state = DriverState.DOWN
            self.trouble = str(error)
            raise
        self.state, self.trouble = DriverState.SERVING, ""
        self._watch_master(self._process)
        self._watch_answers(self._process)

    def _chosen_ports(self) -> DriverPorts:
        try:
            return self._session_ports.take()
        except NoPortError as error:
            raise DriverError(str(error)) from None

    async def _require_master(self) -> None:
        try:
            await require_master(self._settings.cluster)
        except NoMasterError as error:
            raise DriverError(str(error)) from None

    def _watch_master(self, process: Process) -> None:
        """A driver whose master is gone never gets another executor, so it ends with it."""
        cluster = self._settings.cluster

        async def watch() -> None:
            await wait_until_lost(cluster)
            self._kill(process, f"the master of the cluster `{cluster.name}` is gone, and what runs there ends")

        watching = self._tasks.start_task(
            f"watch of the master of {cluster.name}", watch, "a driver without a master goes on without executors"
        )
        self._watches.append(watching)

    def _watch_answers(self, process: Process) -> None:
        """A driver that is stuck may run for ever, and every call waits for it: nothing inside it can be relied on to end it."""
        liveness = self._liveness = Liveness(self.address, self.token, self._settings.cluster.heap_mib)

        async def watch() -> None:
            why = await liveness.wait_until_stuck()
            self.hangs += 1
            self._kill(process, f"the Spark driver `{self.name}` {why}, and is killed")

        watching = self._tasks.start_task(
            f"watch of the answers of the driver {self.name}",
            watch,
            "a Spark driver that is stuck is not started again",
        )
        self._watches.append(watching)

    def _kill(self, process: Process, why: str) -> None:
        self._say(why)
        with suppress(ProcessLookupError):
            process.kill()

    def _end_watches(self) -> None:
        for watching in self._watches:
            watching.cancel()
        self._watches.clear()

    async def _spawn(self) -> Process:
        settings = self._settings
        settings.scratch.mkdir(parents=True, exist_ok=True)
        settings.log.parent.mkdir(parents=True, exist_ok=True)
        with settings.log.open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *driver_command(settings, self._ports),
                stdin=PIPE,
                stdout=log,
                stderr=log,
                cwd=settings.scratch,
                env=environment(settings.cluster),
                start_new_session=True,
            )
        if process.stdin:
            process.stdin.write(self._secrets().encode())
            with suppress(ConnectionError):
                await process.stdin.drain()
        return process

    def _secrets(self) -> str:
        """What the JVM reads first; nothing of it stands in arguments, environment or a file."""
        lines = (f"{key}={value}" for key, value in build_properties(self._settings, self._ports).items())
        return "\n".join((self.key.hex(), self.token, *lines, "", ""))

    async def _wait_for(self, process: Process, ready: Awaitable[None]) -> None:
        """Wait for `ready`; the JVM's death or a failed guard probe ends the wait."""
        waiting, dying = asyncio.ensure_future(ready), asyncio.ensure_future(process.wait())
        try:
            await asyncio.wait((waiting, dying), return_when=asyncio.FIRST_COMPLETED)
            if not waiting.done():
                message = (
                    f"the Spark driver ended while starting (code {process.returncode}): see `{self._settings.log}`"
                )
                raise DriverError(message)
            waiting.result()
        except GuardProbeError as error:
            message = f"{error}: see `{self._settings.log}`"
            raise DriverError(message) from error
        finally:
            waiting.cancel()
            dying.cancel()

    async def _supervise(self) -> None:
        supervisor = Supervisor(self._launch, (DriverError, OSError), _BACK_OFF, self._say)
        await supervisor.keep_up(lambda: self._process, self._handle_end, self._restart_message)

    def _handle_end(self, code: int) -> str:
        self.state = DriverState.DOWN
        self._end_watches()
        self._release_ports()
        return f"the Spark driver ended (code {code}); its sessions are gone; starting another"

    def _restart_message(self) -> str:
        return f"the Spark driver serves again, as number {self.generation}"

    async def _terminate(self) -> None:
        self._end_watches()
        process = self._process
        if process is not None and process.returncode is None:
            await _end_process(process)
        self._release_ports()

    def _release_ports(self) -> None:
        ports, self._ports = self._ports, _NO_PORTS
        self._session_ports.release(ports)


async def _end_process(process: Process) -> None:
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), _STOP_WITHIN)
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
