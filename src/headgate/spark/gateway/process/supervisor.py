"""The supervisor of the gateway's process. In a separate process, copying results never delays a decision of the server."""

import asyncio
import enum
import os
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final

from pydantic import TypeAdapter, ValidationError

from headgate.control.kernel.supervision import BackgroundTask, BackgroundTasks
from headgate.spark.gateway.process.config import DRAIN, ProcessConfig, ProcessReady
from headgate.spark.gateway.process.sandbox import GatewaySandbox
from headgate.spark.process_supervisor import Supervisor

_START_WITHIN: Final = 60.0
_STOP_WITHIN: Final = 5.0
"""Seconds to stop, beyond the time in which running calls may finish."""
_BACK_OFF: Final = (0.1, 1.0, 2.0, 5.0, 10.0, 30.0)


class GatewayProcessError(Exception):
    """The gateway cannot serve; the message says why."""


class GatewayState(enum.Enum):
    """The state of the gateway: whether it serves Spark Connect now."""

    STOPPED = "stopped"
    STARTING = "starting"
    SERVING = "serving"
    DOWN = "down"


class GatewayProcess:
    """One gateway process at a time. All use the ports of the first one."""

    def __init__(
        self,
        told: ProcessConfig,
        died: Callable[[], None],
        say: Callable[[str], None],
        tasks: BackgroundTasks | None = None,
        sandbox: GatewaySandbox | None = None,
    ) -> None:
        """`died` is called when the process has ended by itself and its sessions are lost. `say` receives one line about it."""
        self._told = told
        self._died = died
        self._say = say
        self._process: Process | None = None
        self._tasks = tasks or BackgroundTasks()
        self._sandbox = sandbox or GatewaySandbox()
        self._supervision: BackgroundTask | None = None
        self.state = GatewayState.STOPPED
        self.starts = 0
        self.serving_since = 0.0
        """The monotonic time at which the current process began to serve."""

    @property
    def port(self) -> int:
        """The public port; 0 before the first start."""
        return self._told.port if self.starts else 0

    @property
    def inner_port(self) -> int:
        """The port without TLS on loopback; 0 while the gateway does not serve, because another program could use the port."""
        return self._told.inner_port if self.state is GatewayState.SERVING else 0

    @property
    def pid(self) -> int | None:
        """The process id of the gateway, if it runs."""
        return self._process.pid if self._process and self._process.returncode is None else None

    async def start(self) -> None:
        """Start the process and return when it serves. Raises `GatewayProcessError`."""
        await self._launch()
        self._supervision = self._tasks.start_task(
            "supervision of the gateway", self._supervise, "a gateway that exits is not restarted"
        )

    async def stop(self) -> None:
        """Stop the process: running calls may finish within `drain_seconds`; return when the process has ended."""
        if self._supervision:
            await self._supervision.stop()
        await self._terminate(self._told.drain_seconds + _STOP_WITHIN)
        self.state = GatewayState.STOPPED

    async def _launch(self) -> None:
        self.state = GatewayState.STARTING
        try:
            self._process = await _spawn(self._told, self._sandbox)
            ready = await asyncio.wait_for(_ready(self._process), _START_WITHIN)
        except BaseException as error:
            self.state = GatewayState.DOWN
            await self._terminate(0)
            if isinstance(error, TimeoutError):
                raise GatewayProcessError(
                    f"the Spark gateway did not begin to serve within {_START_WITHIN:.0f} s; read the gateway's errors in the log of the server"
                ) from None
            raise
        self._told = replace(self._told, port=ready.port, inner_port=ready.inner_port)
        self.starts += 1
        self.serving_since = time.monotonic()
        self.state = GatewayState.SERVING

    async def _supervise(self) -> None:
        supervisor = Supervisor(self._launch, (GatewayProcessError, OSError), _BACK_OFF, self._say)
        await supervisor.keep_up(lambda: self._process, self._handle_end, lambda: "the Spark gateway serves again")

    def _handle_end(self, code: int) -> str:
        self.state = GatewayState.DOWN
        self._died()
        return f"the Spark gateway exited (code {code}), so its sessions are lost; Headgate restarts it"

    async def _terminate(self, within: float) -> None:
        process = self._process
        if process is None or process.returncode is not None:
            return
        if process.stdin:
            if within:
                process.stdin.write(DRAIN)
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), within)
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _spawn(told: ProcessConfig, sandbox: GatewaySandbox) -> Process:
    process = await asyncio.create_subprocess_exec(
        *sandbox.command((sys.executable, "-P", "-m", "headgate.app.spark.gateway_process"), told),
        stdin=PIPE,
        stdout=PIPE,
        env=_environment(),
        # Ctrl-C at the terminal must reach only the parent, which stops this process gracefully.
        start_new_session=True,
    )
    if process.stdin:
        process.stdin.write(TypeAdapter(ProcessConfig).dump_json(told) + b"\n")
        with suppress(ConnectionError):
            await process.stdin.drain()
    return process


async def _ready(process: Process) -> ProcessReady:
    line = await process.stdout.readline() if process.stdout else b""
    try:
        ready = TypeAdapter(ProcessReady).validate_json(line)
    except ValidationError:
        raise GatewayProcessError(
            "the Spark gateway exited during its start; read the gateway's errors in the log of the server"
        ) from None
    if ready.error:
        raise GatewayProcessError(ready.error)
    return ready


def _environment() -> dict[str, str]:
    """Return the few environment variables that the gateway needs; it must not see the others of the parent."""
    kept = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "PYTHONPATH")
    return {name: os.environ[name] for name in kept if name in os.environ}
