"""Supervision of child processes: a child that ends by itself is restarted, with increasing waits while the start fails."""

import asyncio
import time
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

_STEADY_AFTER: Final = 60.0
"""Seconds after which the start of a child counts as successful, so that the waits begin again from the shortest."""


@dataclass(frozen=True, slots=True)
class Supervisor:
    """Keeps one child process running. `launch` starts it and returns when it serves; `failures` are the errors it may raise."""

    launch: Callable[[], Awaitable[None]]
    failures: tuple[type[Exception], ...]
    waits: Sequence[float]
    """Seconds to wait before each restart, in order; the last value applies to all further ones."""
    say: Callable[[str], None]

    async def keep_up(
        self, process: Callable[[], Process | None], ended: Callable[[int], str], again: Callable[[], str]
    ) -> None:
        """Wait until the child ends and restart it, until cancelled. `ended` and `again` return the messages for `say`."""
        failed = 0
        while running := process():
            since = time.monotonic()
            code = await running.wait()
            failed = 0 if time.monotonic() - since > _STEADY_AFTER else failed
            self.say(ended(code))
            failed = await self._relaunch(failed)
            self.say(again())

    async def _relaunch(self, failed: int) -> int:
        """Start the child until it serves; return the number of attempts since the last successful start."""
        while True:
            await asyncio.sleep(self.waits[min(failed, len(self.waits) - 1)])
            failed += 1
            try:
                await self.launch()
            except self.failures as error:
                self.say(str(error))
            else:
                return failed
