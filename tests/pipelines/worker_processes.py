"""Workers in processes of their own, like those of servers; the test observes their attempts across the processes."""

import multiprocessing
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.queues import Queue
from multiprocessing.sharedctypes import Synchronized, SynchronizedArray
from multiprocessing.synchronize import Event

from typing_extensions import override

from headgate.facts.ids import ResourceId
from headgate.pipelines.execution.attempt import Attempt, StopReason
from headgate.pipelines.execution.worker import Worker, WorkerSettings
from headgate.pipelines.scheduling.scheduler import Scheduler
from headgate.store import open_stores
from tests.fakes.small_organization import ROOT
from tests.pipelines.fake_worker import opened

_LEASE = 60.0
_ENDS_WITHIN = 60.0
"""The limit in seconds for a worker to end its attempts."""
_ROUND = 0.1
"""Seconds; shorter than a server's, so that the test soon sees that every worker waits."""
_SPAWN = multiprocessing.get_context("spawn")

Begun = tuple[str, int]
"""A run and the number of its attempt."""


class SharedClock:
    """A clock that the test sets for every process."""

    def __init__(self, now: float) -> None:
        self._now: Synchronized[float] = _SPAWN.Value("d", now)

    @property
    def now(self) -> float:
        """The current time."""
        return self._now.value

    @now.setter
    def now(self, now: float) -> None:
        self._now.value = now

    def __call__(self) -> float:
        """Return the time."""
        return self.now


@dataclass(frozen=True)
class _Seen:
    """State that the processes share: the number of running attempts of each pipeline, and a message for each begun attempt."""

    pipelines: Sequence[ResourceId]
    under_way: "SynchronizedArray[int]"
    messages: "Queue[tuple[Begun, bool] | None]"
    """A begun attempt, and whether another one of its pipeline was running; None from a worker that has ended."""

    def begin(self, attempt: Attempt) -> None:
        """Count an attempt as running."""
        place = self.pipelines.index(attempt.row.pipeline)
        with self.under_way.get_lock():
            self.under_way[place] += 1
            self.messages.put(((attempt.row.run, attempt.row.attempt), self.under_way[place] > 1))

    def end(self, attempt: Attempt) -> None:
        """Count the attempt as ended."""
        with self.under_way.get_lock():
            self.under_way[self.pipelines.index(attempt.row.pipeline)] -= 1


@dataclass(frozen=True)
class _Attempts:
    """The work of attempts: each waits a little, and then succeeds, fails or loses its lease, at random."""

    seen: _Seen
    random: random.Random

    def __call__(self, attempt: Attempt) -> None:
        """Execute the attempt."""
        self.seen.begin(attempt)
        chance, pause = self.random.random(), self.random.random() / 50
        attempt.wait(pause)
        self.seen.end(attempt)
        if chance < 0.1:
            raise ValueError("by chance")
        if chance < 0.2:
            attempt.stop(StopReason.LOST)  # as if its lease had expired: another worker takes the run over


class _NoSchedules(Scheduler):
    """Queues nothing, so that the test knows every run."""

    @override
    def tick(self) -> None:
        """Do nothing."""


def _work(url: str, number: int, seed: int, clock: SharedClock, seen: _Seen, ending: Event) -> None:
    """Run a worker until the event is set."""
    stores = open_stores(url)
    organization = opened(clock, stores.log(ROOT))
    settings = WorkerSettings(name=f"w{number}", slots=2, round=_ROUND, lease=_LEASE)
    attempts = _Attempts(seen, random.Random(seed + number))  # noqa: S311 (a seeded generator, not for cryptography)
    worker = Worker(organization.control.catch_up, lambda: [organization], attempts, settings)
    worker._schedulers[ROOT] = _NoSchedules(organization.control, organization.store)
    worker.start()
    ending.wait()
    worker.stop()
    stores.close()
    seen.messages.put(None)


class WorkerProcesses:
    """Several workers, each in a process of its own."""

    def __init__(self, url: str, count: int, seed: int, clock: SharedClock, pipelines: Sequence[ResourceId]) -> None:
        self._seen = _Seen(pipelines, _SPAWN.Array("i", len(pipelines)), _SPAWN.Queue())
        self._ending = _SPAWN.Event()
        self._processes = [
            _SPAWN.Process(target=_work, args=(url, number, seed, clock, self._seen, self._ending), daemon=True)
            for number in range(count)
        ]
        self.begun = Counter[Begun]()
        """The number of times that each attempt has begun; complete once the workers have ended."""
        self.twice: list[Begun] = []
        """The attempts that began while another one of their pipeline was running; complete once the workers have ended."""

    @property
    def under_way(self) -> int:
        """The number of running attempts."""
        return sum(self._seen.under_way[:])

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the workers until the block ends."""
        for each in self._processes:
            each.start()
        try:
            yield
        finally:
            self._ending.set()
            self._take_note()
            for each in self._processes:
                each.join()

    def _take_note(self) -> None:
        ended = 0
        while ended < len(self._processes):
            message = self._seen.messages.get(timeout=_ENDS_WITHIN)
            if message is None:
                ended += 1
                continue
            begun, is_second = message
            self.begun[begun] += 1
            if is_second:
                self.twice.append(begun)
