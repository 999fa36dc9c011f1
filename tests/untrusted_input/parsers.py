"""A pool of parsers on an event loop of its own, and the process ids of its parsers."""

import asyncio
import subprocess
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from headgate.untrusted_input.limits import ParserLimits
from headgate.untrusted_input.pool import ParserPool
from headgate.untrusted_input.purposes import UPLOADS, Purpose

T = TypeVar("T")
_PATIENCE = 20.0


def at_no_charge(_size: int) -> None:
    """Accept a rewritten document of any size."""


class Parsers:
    """Blocking calls to a pool."""

    def __init__(self, pool: ParserPool, runner: asyncio.Runner) -> None:
        self.pool = pool
        self._runner = runner

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def rewrite(self, *streams: bytes) -> list[bytes]:
        """Rewrite Arrow streams in one job."""
        return self.run(self.pool.rewrite("ann", b"arrow", streams, at_no_charge))

    async def settle(self) -> None:
        """Wait until the launcher has ended the parsers of earlier jobs, so that the next parser found is a new one."""
        deadline = time.monotonic() + _PATIENCE
        while self.pool.launcher_pid is not None and await asyncio.to_thread(_children, self.pool.launcher_pid):
            assert time.monotonic() < deadline, "a parser of an earlier job is still there"
            await asyncio.sleep(0.01)

    async def parser(self) -> int:
        """Return the process id of a parser, once one exists."""
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            launcher = self.pool.launcher_pid
            if launcher is not None and (found := await asyncio.to_thread(_children, launcher)):
                return found[0]
            await asyncio.sleep(0.01)
        raise TimeoutError("no parser was started")


def _children(process: int) -> list[int]:
    command = ("ps", "-A", "-o", "ppid=,pid=")
    listed = subprocess.run(command, capture_output=True, check=True)
    pairs = (line.split() for line in listed.stdout.splitlines())
    return [int(child) for parent, child in pairs if int(parent) == process]


@contextmanager
def parsers(limits: ParserLimits | None = None, at_once: int = 4, purpose: Purpose = UPLOADS) -> Iterator[Parsers]:
    """Run a pool until the block ends."""
    with asyncio.Runner() as runner:
        pool = ParserPool(limits, at_once, purpose)
        try:
            yield Parsers(pool, runner)
        finally:
            pool.close()
