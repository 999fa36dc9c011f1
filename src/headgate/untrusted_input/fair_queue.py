"""Fair queue of jobs: limits the running jobs, in total and for each owner, and the waiting ones."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Owner:
    """The jobs of one owner."""

    free: asyncio.Semaphore
    jobs: int = field(default=0)
    """The number of running and waiting jobs."""


class FairQueue:
    """Limits the jobs that run at once. Bound to one event loop."""

    def __init__(
        self,
        at_once: int,
        per_owner: int,
        waiting_per_owner: int,
        waiting: int,
        busy: Callable[[], Exception],
    ) -> None:
        """`busy` returns the error for a job that finds too many others waiting."""
        self._free = asyncio.Semaphore(at_once)
        self._per_owner = per_owner
        self._most_jobs = waiting
        self._most_jobs_per_owner = waiting_per_owner
        self._busy = busy
        self._owners: dict[str, _Owner] = {}
        self._jobs = 0

    @asynccontextmanager
    async def turn(self, owner: str) -> AsyncIterator[None]:
        """Wait for a turn, and hold it until the block ends. Raises what `busy` returns if too many wait."""
        mine = self._owners.get(owner) or _Owner(asyncio.Semaphore(self._per_owner))
        if self._jobs >= self._most_jobs or mine.jobs >= self._most_jobs_per_owner:
            raise self._busy()
        self._owners[owner] = mine
        self._jobs += 1
        mine.jobs += 1
        try:
            # A job first waits for its owner's other jobs, so that only few of them queue before another owner's job.
            async with mine.free, self._free:
                yield
        finally:
            self._jobs -= 1
            mine.jobs -= 1
            if not mine.jobs:
                self._owners.pop(owner, None)
