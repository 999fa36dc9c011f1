"""The parent's side of the launcher process: starts it at the first use, and again after it has ended."""

import asyncio
import itertools
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import astuple
from typing import Final

from headgate.untrusted_input.frames import COMMAND, READY, ParserCommand
from headgate.untrusted_input.limits import ParserLimits
from headgate.untrusted_input.rewriters import Family

_START_WITHIN: Final = 60.0
_STOP_WITHIN: Final = 1.0
_ENVIRONMENT: Final = {
    # One allocator and no extra threads, so that the limits count only the memory of a document.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "MALLOC_ARENA_MAX": "1",
    "OMP_NUM_THREADS": "1",
}


class LauncherError(Exception):
    """The launcher did not start, or has ended."""


class LauncherProcess:
    """One launcher at a time. Bound to one event loop."""

    def __init__(self, limits: ParserLimits, family: Family = Family.ROWS) -> None:
        self._limits = limits
        self._family = family
        self._lock = asyncio.Lock()
        self._numbers = itertools.count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    @property
    def pid(self) -> int | None:
        """The launcher's process id, if it has started."""
        return self._process.pid if self._process else None

    async def start(self) -> None:
        """Return when the launcher is ready. Raises `LauncherError`."""
        async with self._lock:
            if self._process is None or self._process.poll() is not None or self._control is None:
                self.stop()
                await self._launch()

    def stop(self) -> None:
        """End the launcher and every parser. It can be started again."""
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            # When the parent's socket closes, it ends its parsers and exits. If it does not, killing it also ends its parsers.
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_STOP_WITHIN)
            self._process.kill()
            self._process.wait()
        self._control = self._process = None

    def begin(self, file: int | None = None) -> tuple[int, socket.socket]:
        """Begin a job; return its number and the socket of its parser, which may read an open file. Raises `LauncherError`."""
        mine, theirs = socket.socketpair()
        number = next(self._numbers) & 0xFFFFFFFF
        with theirs:
            try:
                files = () if file is None else (file,)
                self._command(ParserCommand.BEGIN, number, (theirs.fileno(), *files))
            except LauncherError:
                mine.close()
                raise
        mine.setblocking(False)  # noqa: FBT003 - a C function without keywords
        return number, mine

    def end(self, number: int) -> None:
        """End a job, with its process."""
        with suppress(LauncherError):
            self._command(ParserCommand.END, number)

    def _command(self, command: ParserCommand, number: int, passed: Sequence[int] = ()) -> None:
        try:
            if self._control is None:
                raise LauncherError(
                    "the launcher of parser processes has not started; Headgate starts it at the next request"
                )
            if socket.send_fds(self._control, [COMMAND.pack(command, number)], passed) != COMMAND.size:
                raise LauncherError(
                    "the launcher of parser processes does not read its commands; Headgate starts it again at the next request"
                )
        except OSError:
            # A partly sent command cannot be revoked, so a launcher that did not read it must not be used again.
            self.stop()
            raise LauncherError(
                "the launcher of parser processes has exited; Headgate starts it again at the next request"
            ) from None

    async def _launch(self) -> None:
        mine, theirs = socket.socketpair()
        mine.setblocking(False)  # noqa: FBT003 - a C function without keywords
        try:
            with theirs:
                self._process = _spawn(theirs, self._family, self._limits)
            async with asyncio.timeout(_START_WITHIN):
                ready = await asyncio.get_running_loop().sock_recv(mine, len(READY))
        except (OSError, TimeoutError):
            ready = b""
        except asyncio.CancelledError:
            mine.close()
            raise
        if ready != READY:
            mine.close()
            self.stop()
            raise LauncherError(
                "the launcher of parser processes did not start; Headgate starts it again at the next request"
            )
        self._control = mine


def _spawn(control: socket.socket, family: Family, limits: ParserLimits) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        (sys.executable, "-P", "-m", "headgate.untrusted_input.launcher", family, *map(str, astuple(limits))),
        stdin=control.fileno(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=_ENVIRONMENT | {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ},
        start_new_session=True,
    )
