"""The supervisor of the Spark driver: a JVM child process that serves only after the guard is proven to be active in it."""

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
"""Longer, because a master may first have to find free resources or start a container."""
_STOP_WITHIN = 5.0
_BACK_OFF = (1.0, 2.0, 5.0, 10.0, 30.0)
_NO_PORTS = DriverPorts(0, 0, 0)


class DriverError(Exception):
    """The Spark driver cannot serve; the message says what to do."""


class DriverState(enum.Enum):
    """The state of the driver: whether sessions can be opened now."""

    STOPPED = "stopped"
    STARTING = "starting"
    SERVING = "serving"
    DOWN = "down"


class Driver:
    """One driver: one JVM at a time. Each start has its own key, token and ports; `generation` counts the starts."""

    def __init__(
        self,
        settings: DriverSettings,
        say: Callable[[str], None] = lambda _: None,
        tasks: BackgroundTasks | None = None,
        session_ports: SessionPorts | None = None,
    ) -> None:
        """`say` receives one line whenever the driver ends, serves again or cannot. All drivers share `session_ports`."""
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
        """How often the driver was killed because it did not respond."""
        self.key = b""
        self.token = ""
        self.trouble = ""
        """Why the last start failed; empty if it did not."""

    @property
    def name(self) -> str:
        """The name of the driver, unique among the drivers."""
        return self._settings.name

    @property
    def address(self) -> str:
        """The address of the driver's Connect server."""
        return f"127.0.0.1:{self._ports.connect}"

    @property
    def ready(self) -> bool:
        """Whether the driver serves now."""
        return self.state is DriverState.SERVING

    @property
    def is_answering(self) -> bool:
        """Whether the driver responded in time to the last liveness check; true before the first one."""
        return self._liveness is None or self._liveness.is_answering

    @property
    def pid(self) -> int | None:
        """The process id of the JVM, if it runs."""
        return self._process.pid if self._process and self._process.returncode is None else None

    async def start(self) -> None:
        """Start the JVM and return when it serves. Raises `DriverError` if it does not start with an active guard."""
        await self._launch()
        self._supervision = self._tasks.start_task(
            f"supervision of the driver {self.name}", self._supervise, "a Spark driver that exits is not restarted"
        )

    async def stop(self) -> None:
        """Stop the JVM: terminate it, then kill it if it does not exit. Returns when the process has ended."""
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
        """Kill the driver when its master is lost: it would never get another executor."""
        cluster = self._settings.cluster

        async def watch() -> None:
            await wait_until_lost(cluster)
            self._kill(
                process,
                f"the Spark driver `{self.name}` lost the master of the cluster `{cluster.name}`, so Headgate kills and restarts it",
            )

        watching = self._tasks.start_task(
            f"watch of the master of {cluster.name}", watch, "a driver that lost its master continues without executors"
        )
        self._watches.append(watching)

    def _watch_answers(self, process: Process) -> None:
        """Kill the driver when it hangs: it would never exit by itself, and every call would wait for it."""
        liveness = self._liveness = Liveness(self.address, self.token, self._settings.cluster.heap_mib)

        async def watch() -> None:
            why = await liveness.wait_until_stuck()
            self.hangs += 1
            self._kill(process, f"the Spark driver `{self.name}` {why}, so Headgate kills and restarts it")

        watching = self._tasks.start_task(
            f"watch of the answers of the driver {self.name}",
            watch,
            "a Spark driver that hangs is not restarted",
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
        """Return the secrets and the configuration for the JVM's stdin; they are in no argument, environment variable or file."""
        lines = (f"{key}={value}" for key, value in build_properties(self._settings, self._ports).items())
        return "\n".join((self.key.hex(), self.token, *lines, "", ""))

    async def _wait_for(self, process: Process, ready: Awaitable[None]) -> None:
        """Wait for `ready`. Raises `DriverError` if the JVM exits or the guard probe fails."""
        waiting, dying = asyncio.ensure_future(ready), asyncio.ensure_future(process.wait())
        try:
            await asyncio.wait((waiting, dying), return_when=asyncio.FIRST_COMPLETED)
            if not waiting.done():
                message = (
                    f"the Spark driver exited during its start (code {process.returncode}); see `{self._settings.log}`"
                )
                raise DriverError(message)
            waiting.result()
        except GuardProbeError as error:
            message = f"{error}; see `{self._settings.log}`"
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
        return f"the Spark driver exited (code {code}), so its sessions are lost; Headgate restarts it"

    def _restart_message(self) -> str:
        return f"the Spark driver serves again (start number {self.generation})"

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
