"""Several workers on one PostgreSQL: each run has one attempt at a time, and each schedule one run each time."""

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest

from headgate.control.organization import Organization
from headgate.control.ports import Draft, Head
from headgate.control.queue import FAILED, QUEUED, RUNNING, SUCCEEDED, RunRow
from headgate.control.runs import QueueRun
from headgate.facts.changes import ResourceCreated, RunAsSet
from headgate.facts.ids import ResourceId, RunId
from headgate.pipelines.attempt import Attempt, Stop
from headgate.pipelines.scheduler import Scheduler
from headgate.pipelines.worker import Worker
from headgate.store import open_stores
from tests.fakes.world import ADMIN, DELAYS_RELATIONS, PEOPLE, PROJECT, ROOT, THINGS
from tests.pipelines.working import QUICK, WITHIN, Clock, defined, opened, runs, until
from tests.soak import count

NOW = 1_800_000_000.0
PIPELINES = tuple(ResourceId(f"p{number}") for number in range(4))
LEASE = 60.0
QUIET = 0.3
"""Seconds in which nothing happens before time passes."""
RUNS, SOAK_RUNS = 16, 1_000


@dataclass
class Watched:
    """What attempts do: a little, or fail, or be lost; sees whether two of one pipeline are under way."""

    random: random.Random
    clock: Clock
    under_way: Counter[ResourceId] = field(default_factory=Counter[ResourceId])
    begun: Counter[tuple[str, int]] = field(default_factory=Counter[tuple[str, int]])
    twice: list[str] = field(default_factory=list[str])
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, attempt: Attempt) -> None:
        """Do it."""
        row = attempt.row
        with self.lock:
            self.begun[row.run, row.attempt] += 1
            self.under_way[row.pipeline] += 1
            if self.under_way[row.pipeline] > 1:
                self.twice.append(row.run)
            chance, pause = self.random.random(), self.random.random() / 50
        attempt.wait(pause)
        with self.lock:
            self.under_way[row.pipeline] -= 1
        if chance < 0.1:
            raise ValueError("by chance")
        if chance < 0.2:
            attempt.stop(Stop.LOST)  # as if its lease had ended: others take it over


@contextmanager
def places(url: str, clock: Clock, count: int) -> Iterator[list[Organization]]:
    """Open one organization in so many places, as processes of their own would."""
    stores = [open_stores(url) for _ in range(count)]
    try:
        log = stores[0].log(ROOT)
        made = [ResourceCreated(each, "query", PROJECT, each, None, DELAYS_RELATIONS) for each in PIPELINES]
        rights = [RunAsSet(each, ADMIN) for each in PIPELINES]
        log.append(Head(), Draft(clock.now, None, "made", (*PEOPLE, *THINGS, *made, *rights)))
        for each in PIPELINES:
            log.put_document(defined(each, retries={"at_most": 1, "wait": 1}, schedule={"cron": "* * * * *"}))
        yield [opened(clock, each.log(ROOT)) for each in stores]
    finally:
        for each in stores:
            each.close()


def raced(url: str, count: int, seed: int) -> float:
    """Have three workers carry out runs, and hold what came of them to what may come of them.

    Return the seconds until all had ended, without those in which nothing could happen.
    """
    clock, chance = Clock(NOW), random.Random(seed)  # noqa: S311 (a test's)
    watched = Watched(chance, clock)
    with places(url, clock, 3) as organizations:
        for number in range(count):
            organizations[0].control.execute(QueueRun(RunId(f"r{number}"), chance.choice(PIPELINES)), None)
        workers = [_worker(each, watched, f"w{number}") for number, each in enumerate(organizations)]
        try:
            passing, began = _Passing(organizations[0], workers, clock), time.monotonic()
            until(passing, within=WITHIN + count / 5)
            seconds = time.monotonic() - began - passing.waited
        finally:
            for each in workers:
                each.stop()
        found = {row.run: row for row in runs(organizations[0])}

    assert len(found) == count
    assert watched.twice == []
    assert set(watched.begun.values()) == {1}
    attempts = Counter(run for run, _ in watched.begun)
    assert attempts == {run: row.attempt for run, row in found.items()}
    assert {row.state for row in found.values()} <= {SUCCEEDED, FAILED}
    return seconds


class _Passing:
    """Whether no run is left. While nothing happens, time passes: to the next end of a wait or of a lost lease."""

    def __init__(self, organization: Organization, workers: Sequence[Worker], clock: Clock) -> None:
        self._organization = organization
        self._workers = workers
        self._clock = clock
        self._seen: Sequence[RunRow] = ()
        self._since = 0.0
        self.waited = 0.0
        """Seconds in which nothing could happen before time passed."""

    def __call__(self) -> bool:
        time.sleep(QUIET / 3)  # it reads all rows, on the processor of the workers
        rows, now = runs(self._organization, QUEUED, RUNNING), time.monotonic()
        if rows != self._seen or any(each.under_way for each in self._workers):
            self._seen, self._since = rows, now
        # Later, so that a worker that has begun an attempt, and does not count it yet, still has its lease.
        elif now - self._since > QUIET:
            self.waited += now - self._since
            self._since = now
            ends = [row.lease if row.state == RUNNING else row.due for row in rows]
            self._clock.now = (
                min((each for each in ends if each and each > self._clock.now), default=self._clock.now) + 0.01
            )
        return not rows


def _worker(organization: Organization, perform: Watched, name: str) -> Worker:
    settings = replace(QUICK, name=name, slots=2, lease=LEASE)
    made = Worker(organization.control.catch_up, lambda: [organization], perform, settings)
    made._schedulers[ROOT] = _NoSchedules(organization.control, organization.store)
    made.start()
    return made


class _NoSchedules(Scheduler):
    """Queues nothing, so that the test knows every run."""

    def tick(self) -> None:
        """Do nothing."""


def test_of_several_workers_one_has_each_attempt_and_none_has_two_of_a_pipeline(postgres_url: str) -> None:
    raced(postgres_url, RUNS, seed=7)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_of_several_workers_one_has_each_attempt_for_long(postgres_url: str) -> None:
    seconds = raced(postgres_url, SOAK_RUNS, seed=11)

    count(f"{SOAK_RUNS} queued runs with 3 workers: {seconds:.0f} s (at most 60)")


def test_of_several_schedulers_one_queues_what_comes_round(postgres_url: str) -> None:
    clock = Clock(NOW - 1)
    with places(postgres_url, clock, 3) as organizations:
        schedulers = [Scheduler(each.control, each.store) for each in organizations]
        clock.now = NOW + 1
        threads = [threading.Thread(target=each.tick) for each in schedulers]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

        found = runs(organizations[0])

    assert sorted((row.pipeline, row.due) for row in found) == [(each, NOW) for each in PIPELINES]
