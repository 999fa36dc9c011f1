"""A parser pool for threads and other event loops; it runs in a separate thread."""

import asyncio
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from typing import Any, Final

from headgate.untrusted_input.limits import MEBIBYTE, ParserLimits
from headgate.untrusted_input.pool import Charge, ParserPool
from headgate.untrusted_input.purposes import SMALLER_FILES, Purpose

FILE_LIMITS: Final = ParserLimits(
    memory_bytes=512 * MEBIBYTE,
    cpu_seconds=20,
    wall_seconds=40.0,
    document_bytes=64 * MEBIBYTE,
    answer_bytes=128 * MEBIBYTE,
)
"""Limits of a parser of the lake's files. A manifest of 10,000 files with statistics of 20 columns takes 1 s."""

CHART_LIMITS: Final = ParserLimits(
    memory_bytes=256 * MEBIBYTE,
    cpu_seconds=10,
    wall_seconds=20.0,
    document_bytes=MEBIBYTE,
    answer_bytes=16 * MEBIBYTE,
)
"""Limits for drawing one chart, including half a second for the start of the engine."""


class BlockingPool:
    """Rewrites documents for threads and other event loops. Thread-safe."""

    def __init__(self, limits: ParserLimits = FILE_LIMITS, purpose: Purpose = SMALLER_FILES) -> None:
        """Create the pool; thread and processes start at the first call."""
        self._limits = limits
        self._purpose = purpose
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pool: ParserPool | None = None

    @property
    def launcher_pid(self) -> int | None:
        """The process id of the launcher, if it has started."""
        return self._pool.launcher_pid if self._pool else None

    def rewrite(
        self, owner: str, kind: bytes, documents: Sequence[bytes], charge: Charge, file: int | None = None
    ) -> list[bytes]:
        """Wait for the rewritten documents and return them. Raises the same errors as `ParserPool.rewrite`."""
        return self.submit(owner, kind, documents, charge, file).result()

    def submit(
        self, owner: str, kind: bytes, documents: Sequence[bytes], charge: Charge, file: int | None = None
    ) -> Future[list[bytes]]:
        """Return a future of the rewritten documents. Cancelling it cancels the job."""
        with self._lock:  # a job must not be submitted to a loop that is stopping
            loop, pool = self._start_once()
            return asyncio.run_coroutine_threadsafe(pool.rewrite(owner, kind, documents, charge, file), loop)

    def close(self) -> None:
        """Cancel all jobs, and end the processes and the thread. They start again at the next call."""
        with self._lock:
            if self._loop is not None and self._pool is not None:
                self._loop.call_soon_threadsafe(self._loop.stop)
            self._loop = self._pool = None

    def _start_once(self) -> tuple[asyncio.AbstractEventLoop, ParserPool]:
        if self._loop is None or self._pool is None:
            self._loop, self._pool = asyncio.new_event_loop(), ParserPool(self._limits, purpose=self._purpose)
            threading.Thread(target=_run, args=(self._loop, self._pool), name="parsers", daemon=True).start()
        return self._loop, self._pool


def _run(loop: asyncio.AbstractEventLoop, pool: ParserPool) -> None:
    try:
        loop.run_forever()
        loop.run_until_complete(_cancel(asyncio.all_tasks(loop)))
    finally:
        pool.close()
        loop.close()


async def _cancel(jobs: Iterable[asyncio.Task[Any]]) -> None:
    for each in jobs:
        each.cancel()
    await asyncio.gather(*jobs, return_exceptions=True)
