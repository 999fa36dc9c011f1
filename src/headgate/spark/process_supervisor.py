"""Children that are to stay: whichever ends by itself is started again, after longer and longer waits while it does not come up."""

import asyncio
import time
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

_STEADY_AFTER: Final = 60.0
"""Seconds after which a child that served counts as one that comes up."""


@dataclass(frozen=True, slots=True)
class Supervisor:
    """Keeps one child up. `launch` starts it and returns when it serves; `failures` are the errors it may raise."""

    launch: Callable[[], Awaitable[None]]
    failures: tuple[type[Exception], ...]
    waits: Sequence[float]
    """Seconds before the first start and each that follows; the last for all others."""
    say: Callable[[str], None]

    async def keep_up(
        self, process: Callable[[], Process | None], ended: Callable[[int], str], again: Callable[[], str]
    ) -> None:
        """Wait for the child's end and start it again, until cancelled. `ended` and `again` return what is said of it."""
        failed = 0
        while running := process():
            since = time.monotonic()
            code = await running.wait()
            failed = 0 if time.monotonic() - since > _STEADY_AFTER else failed
            self.say(ended(code))
            failed = await self._relaunch(failed)
            self.say(again())

    async def _relaunch(self, failed: int) -> int:
        """Start until it serves; return the number of starts so far."""
        while True:
            await asyncio.sleep(self.waits[min(failed, len(self.waits) - 1)])
            failed += 1
            try:
                await self.launch()
            except self.failures as error:
                self.say(str(error))
            else:
                return failed
