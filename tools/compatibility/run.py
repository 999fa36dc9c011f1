"""A run of the comparison: both sides run the jobs that have no results yet, and the results are compared."""

import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tools.compatibility.classes import Classes
from tools.compatibility.comparison import Compared, compare
from tools.compatibility.fixture_tables import databases_of
from tools.compatibility.jars import SuiteJars
from tools.compatibility.jobs import Job
from tools.compatibility.results import HEADGATE, PLAIN, Results
from tools.compatibility.servers import Side
from tools.compatibility.worker import order_for

ROOT: Final = Path(__file__).resolve().parents[2]
OpenSide = Callable[[], AbstractContextManager[Side]]


class RunError(Exception):
    """A worker has failed, so results are missing."""


@dataclass(frozen=True, slots=True)
class Servers:
    """The functions that start the two sides, and the jars with the contents of the fixture tables."""

    headgate: OpenSide
    plain: OpenSide
    jars: SuiteJars


def run_jobs(
    jobs: Sequence[Job],
    results: Results,
    servers: Servers,
    classes: Classes,
    limit: float,
    say: Callable[[str], None],
) -> None:
    """Run the jobs that have no results; a side starts only if it has to run one. Raises `RunError`."""
    with ExitStack() as stack:
        run = _Run(results, servers, limit, stack, databases_of(job.name for job in jobs))
        run.measure(jobs)
        # The names of the settings that Headgate refuses are known only now: plain Spark may have to run a job under others.
        run.measure(jobs)
        names = classes.unsure_jobs(compared_results(jobs, results))
        if repeated := [job for job in jobs if job.name in names]:
            say(f"{len(repeated)} jobs have differences without a verdict; a second run shows those that are chance")
            run.measure(repeated, repeated=True)


def compared_results(jobs: Iterable[Job], results: Results) -> list[Compared]:
    """Return the statements of all jobs that both sides have run, with their verdicts."""
    found: list[Compared] = []
    for job in jobs:
        headgate, plain = results.read(HEADGATE, job), results.read(PLAIN, job)
        if headgate is not None and plain is not None:
            again = {side: results.read(side, job, repeated=True) or [] for side in (HEADGATE, PLAIN)}
            found += compare(job, headgate, plain, again)
    return found


class _Run:
    """The sides of a run, which start when a job needs them, and end with the stack."""

    def __init__(
        self, results: Results, servers: Servers, limit: float, stack: ExitStack, databases: Iterable[str]
    ) -> None:
        self._results, self._servers, self._limit, self._stack = results, servers, limit, stack
        self._databases = sorted(databases)
        self._sides: dict[str, Side] = {}

    def measure(self, jobs: Sequence[Job], *, repeated: bool = False) -> None:
        """Run the jobs on each side that has no result; plain Spark follows Headgate, whose refused settings it resets."""
        missing = {
            side: [job for job in jobs if not self._results.has(side, job, repeated=repeated)]
            for side in (HEADGATE, PLAIN)
        }
        # A result of plain Spark cannot be identified before Headgate's; an older one is probably the right one.
        missing[PLAIN] = [
            job
            for job in missing[PLAIN]
            if repeated or self._results.refused_settings(job) is not None or not self._results.may_have_plain(job)
        ]
        workers: list[subprocess.Popen[str]] = []
        try:
            for side in (each for each in missing if missing[each]):
                workers.append(self._start(side, missing[side], repeated=repeated))  # noqa: PERF401 (the list has every worker, even if a later one fails to start)
            _wait(workers)
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()

    def _start(self, side: str, jobs: Sequence[Job], *, repeated: bool) -> subprocess.Popen[str]:
        is_new = side not in self._sides
        if is_new:
            opened = self._servers.headgate if side == HEADGATE else self._servers.plain
            self._sides[side] = self._stack.enter_context(opened())
        order = order_for(side, self._sides[side].url, list(jobs), self._results, self._limit)
        order = replace(order, repeated=repeated)
        if is_new:
            jars = self._servers.jars
            order = replace(order, tests=str(jars.tests), sources=str(jars.sources), databases=self._databases)
        worker = subprocess.Popen(
            [sys.executable, "-m", "tools.compatibility.worker"], cwd=ROOT, stdin=subprocess.PIPE, text=True
        )
        assert worker.stdin is not None  # noqa: S101 (it is a pipe)
        worker.stdin.write(order.to_json())
        worker.stdin.close()
        return worker


def _wait(workers: Sequence[subprocess.Popen[str]]) -> None:
    """Wait until all workers have ended. Raises `RunError` as soon as one fails, because the other may wait for it."""
    waiting = list(workers)
    while waiting:
        for worker in tuple(waiting):
            try:
                code = worker.wait(timeout=0.5)
            except subprocess.TimeoutExpired:
                continue
            if code:
                raise RunError(f"a worker ended with exit code {code}; see its output above")
            waiting.remove(worker)
