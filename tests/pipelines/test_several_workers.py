"""Several workers on one PostgreSQL: each run has one attempt at a time, and each schedule one run each time."""

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest

from headgate.control.organization import Organization
from headgate.control.ports import Draft, Head
from headgate.control.queue import ENDED, FAILED, SUCCEEDED
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


def raced(url: str, count: int, seed: int) -> None:
    """Have three workers carry out runs, and hold what came of them to what may come of them."""
    clock, chance = Clock(NOW), random.Random(seed)  # noqa: S311 (a test's)
    watched = Watched(chance, clock)
    with places(url, clock, 3) as organizations:
        for number in range(count):
            organizations[0].control.execute(QueueRun(RunId(f"r{number}"), chance.choice(PIPELINES)), None)
        workers = [_worker(each, watched, f"w{number}") for number, each in enumerate(organizations)]
        try:

            def over() -> bool:
                # Time passes while nothing is under way: for what waits, and for what was lost. In steps, so that a
                # worker that has begun an attempt, and does not count it yet, still has its lease.
                if not any(each.under_way for each in workers):
                    clock.now += LEASE / 100
                return len(runs(organizations[0], *ENDED)) == count

            until(over, within=WITHIN + count / 5)
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
    began = time.monotonic()
    raced(postgres_url, SOAK_RUNS, seed=11)

    count(f"{SOAK_RUNS} queued runs with 3 workers: {time.monotonic() - began:.0f} s")


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
