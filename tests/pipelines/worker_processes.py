"""Workers in processes of their own, as servers have them; what their attempts do is seen from all of them."""

import multiprocessing
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.queues import Queue
from multiprocessing.sharedctypes import Synchronized, SynchronizedArray
from multiprocessing.synchronize import Event

from headgate.facts.ids import ResourceId
from headgate.pipelines.execution.attempt import Attempt, StopReason
from headgate.pipelines.execution.worker import Worker, WorkerSettings
from headgate.pipelines.scheduling.scheduler import Scheduler
from headgate.store import open_stores
from tests.fakes.small_organization import ROOT
from tests.pipelines.fake_worker import opened

_LEASE = 60.0
_ENDS_WITHIN = 60.0
"""Seconds that a worker has for ending what is under way."""
_ROUND = 0.1
"""Seconds: shorter than a server's, so that little time goes by until the test sees that nothing can happen."""
_SPAWN = multiprocessing.get_context("spawn")

Begun = tuple[str, int]
"""A run, and the number of an attempt of it."""


class SharedClock:
    """A clock that a test puts on for every process."""

    def __init__(self, now: float) -> None:
        self._now: Synchronized[float] = _SPAWN.Value("d", now)

    @property
    def now(self) -> float:
        """The time."""
        return self._now.value

    @now.setter
    def now(self, now: float) -> None:
        self._now.value = now

    def __call__(self) -> float:
        """Return the time."""
        return self.now


@dataclass(frozen=True)
class _Seen:
    """What the processes share: how many attempts of each pipeline are under way, and a message about each that begins."""

    pipelines: Sequence[ResourceId]
    under_way: "SynchronizedArray[int]"
    messages: "Queue[tuple[Begun, bool] | None]"
    """An attempt that begins and whether another of its pipeline was under way; None from a worker that has ended."""

    def begin(self, attempt: Attempt) -> None:
        """Count an attempt."""
        place = self.pipelines.index(attempt.row.pipeline)
        with self.under_way.get_lock():
            self.under_way[place] += 1
            self.messages.put(((attempt.row.run, attempt.row.attempt), self.under_way[place] > 1))

    def end(self, attempt: Attempt) -> None:
        """Count it no longer."""
        with self.under_way.get_lock():
            self.under_way[self.pipelines.index(attempt.row.pipeline)] -= 1


@dataclass(frozen=True)
class _Attempts:
    """What attempts do: a little, or fail, or be lost."""

    seen: _Seen
    random: random.Random

    def __call__(self, attempt: Attempt) -> None:
        """Do it."""
        self.seen.begin(attempt)
        chance, pause = self.random.random(), self.random.random() / 50
        attempt.wait(pause)
        self.seen.end(attempt)
        if chance < 0.1:
            raise ValueError("by chance")
        if chance < 0.2:
            attempt.stop(StopReason.LOST)  # as if its lease had ended: others take it over


class _NoSchedules(Scheduler):
    """Queues nothing, so that the test knows every run."""

    def tick(self) -> None:
        """Do nothing."""


def _work(url: str, number: int, seed: int, clock: SharedClock, seen: _Seen, ending: Event) -> None:
    """Be a worker until told to end."""
    stores = open_stores(url)
    organization = opened(clock, stores.log(ROOT))
    settings = WorkerSettings(name=f"w{number}", slots=2, round=_ROUND, lease=_LEASE)
    attempts = _Attempts(seen, random.Random(seed + number))  # noqa: S311 (a test's)
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
        """How often each attempt has begun, once the workers have ended."""
        self.twice: list[Begun] = []
        """The attempts that began while another of their pipeline was under way, once the workers have ended."""

    @property
    def under_way(self) -> int:
        """How many attempts are under way."""
        return sum(self._seen.under_way[:])

    @contextmanager
    def running(self) -> Iterator[None]:
        """Let them work until the block ends."""
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
