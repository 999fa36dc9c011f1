"""Several workers on one PostgreSQL: each run has one attempt at a time, and each schedule starts one run at each due time."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest

from headgate.control.kernel.ports import Head, LogWrite
from headgate.control.kernel.run_queue import FAILED, QUEUED, RUNNING, SUCCEEDED, RunRow
from headgate.control.organizations.organization import Organization
from headgate.control.pipelines.runs import QueueRun
from headgate.facts.changes import ResourceCreated, RunAsSet
from headgate.facts.ids import ResourceId, RunId
from headgate.pipelines.scheduling.scheduler import Scheduler
from headgate.store import open_stores
from tests.fakes.small_organization import ADMIN, DELAYS_RELATIONS, PEOPLE, PROJECT, ROOT, THINGS
from tests.pipelines.fake_worker import Clock, defined, opened, runs, until
from tests.pipelines.worker_processes import SharedClock, WorkerProcesses
from tests.soak import count

NOW = 1_800_000_000.0
PIPELINES = tuple(ResourceId(f"p{number}") for number in range(4))
_PATIENCE = 90.0
"""The limit in seconds for three processes to start and to execute a few runs; other processes use the machine too."""
QUIET = 1.0
"""The seconds without a change after which the test advances the clock."""
RUNS, SOAK_RUNS = 16, 1_000
_MOST_SECONDS = 60.0
"""The limit for the runs of the soak on 2 processors, without the seconds of waiting for the clock."""


@contextmanager
def places(url: str, clock: Callable[[], float], count: int) -> Iterator[list[Organization]]:
    """Open one organization this number of times, each time like a process of its own."""
    stores = [open_stores(url) for _ in range(count)]
    try:
        log = stores[0].log(ROOT)
        made = [ResourceCreated(each, "query", PROJECT, each, None, DELAYS_RELATIONS) for each in PIPELINES]
        rights = [RunAsSet(each, ADMIN) for each in PIPELINES]
        log.append(Head(), LogWrite(clock(), None, "made", (*PEOPLE, *THINGS, *made, *rights)))
        for each in PIPELINES:
            log.put_document(defined(each, retries={"at_most": 1, "wait": 1}, schedule={"cron": "* * * * *"}))
        yield [opened(clock, each.log(ROOT)) for each in stores]
    finally:
        for each in stores:
            each.close()


def raced(url: str, count: int, seed: int) -> float:
    """Execute runs with three workers, and check the results.

    Returns the seconds until all runs had ended, without the time in which every worker waited for the clock.
    """
    clock, chance = SharedClock(NOW), random.Random(seed)  # noqa: S311 (a seeded generator, not for cryptography)
    with places(url, clock, 1) as [organization]:
        for number in range(count):
            organization.control.execute(QueueRun(RunId(f"r{number}"), chance.choice(PIPELINES)), None)
        workers = WorkerProcesses(url, 3, seed, clock, PIPELINES)
        with workers.running():
            passing, began = _Passing(organization, workers, clock), time.monotonic()
            until(passing, within=_PATIENCE + count / 5)
            seconds = time.monotonic() - began - passing.waited
        found = {row.run: row for row in runs(organization)}

    assert len(found) == count
    assert workers.twice == []
    assert set(workers.begun.values()) == {1}
    attempts = Counter(run for run, _ in workers.begun)
    assert attempts == {run: row.attempt for run, row in found.items()}
    assert {row.state for row in found.values()} <= {SUCCEEDED, FAILED}
    return seconds


class _Passing:
    """Whether all runs have ended. When nothing changes, it advances the clock to the next due time or the end of a lost lease."""

    def __init__(self, organization: Organization, workers: WorkerProcesses, clock: SharedClock) -> None:
        self._organization = organization
        self._workers = workers
        self._clock = clock
        self._seen: Sequence[RunRow] = ()
        self._since = 0.0
        self.waited = 0.0
        """The seconds in which every worker waited for the clock."""

    def __call__(self) -> bool:
        time.sleep(QUIET / 10)  # each call reads all rows, on a processor that the workers need
        rows, now = runs(self._organization, QUEUED, RUNNING), time.monotonic()
        if rows != self._seen or self._workers.under_way:
            self._seen, self._since = rows, now
        # After `QUIET` seconds every worker has had a round, and a begun attempt that is not counted yet has its lease.
        elif now - self._since > QUIET:
            self.waited += now - self._since
            self._since = now
            ends = [row.lease if row.state == RUNNING else row.due for row in rows]
            self._clock.now = (
                min((each for each in ends if each and each > self._clock.now), default=self._clock.now) + 0.01
            )
        return not rows


def test_concurrent_workers_run_each_attempt_once_and_each_pipeline_one_at_a_time(postgres_url: str) -> None:
    raced(postgres_url, RUNS, seed=7)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_concurrent_workers_run_each_attempt_once_over_many_runs(postgres_url: str) -> None:
    seconds = raced(postgres_url, SOAK_RUNS, seed=11)

    count(f"{SOAK_RUNS} queued runs with 3 workers: {seconds:.0f} s (at most {_MOST_SECONDS:.0f})")
    assert seconds <= _MOST_SECONDS


def test_concurrent_schedulers_queue_each_due_run_once(postgres_url: str) -> None:
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
