"""A worker of a small organization with a clock; functions of the test replace the work on Spark."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headgate.control.control import Control
from headgate.control.identity.directory import Directory
from headgate.control.kernel.ports import DocumentPut, LogWrite, Store
from headgate.control.kernel.run_queue import RunFilter, RunRow
from headgate.control.models.library import FixedModels
from headgate.control.organizations.organization import Organization
from headgate.control.pipelines.runs import QueueRun
from headgate.control.questions.hidden_names import NameAuthorizer
from headgate.control.questions.messages import RefusalMessages
from headgate.facts.changes import Change
from headgate.facts.ids import ResourceId, RunId
from headgate.pipelines.execution.attempt import Attempt
from headgate.pipelines.execution.worker import ExecuteAttempt, Worker, WorkerSettings
from tests.fakes.small_organization import DELAYS, LOAD, MODELS, PEOPLE, ROOT, THINGS
from tests.fakes.store import FakeStore

QUICK = WorkerSettings(slots=4, round=0.01, renewed=0.05, lease=30.0, grace=0.3)
"""Short waits but a long lease, so that no test depends on how fast this machine is."""
WITHIN = 60.0
"""The limit in seconds for an expected event; generous, because other processes use the machine too."""


class Clock:
    """A clock that the test sets."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def defined(pipeline: ResourceId, **more: Any) -> DocumentPut:
    """Return a definition of one of the organization's pipelines."""
    query = {
        "kind": "query",
        "name": pipeline,
        "into": "lake.raw.planes",
        "inputs": ["lake.raw.flights"],
        "sql": "SELECT * FROM lake.raw.flights",
    }
    return DocumentPut("pipeline", pipeline, {**query, **more})


def opened(clock: Callable[[], float], store: Store | None = None) -> Organization:
    """Return the small organization on a store of its own, or on an existing store that has it already."""
    if store is None:
        store = FakeStore()
        store.write(*PEOPLE, *THINGS)
        for each in (LOAD, DELAYS):
            store.put_document(defined(each))
    control = Control(store, FixedModels(MODELS), clock)
    directory = Directory(control, store)
    wording = RefusalMessages(directory)
    return Organization(ROOT, store, control, directory, wording, NameAuthorizer(control, wording, ""))


def change(organization: Organization, *changes: Change, at: float | None = None) -> None:
    """Append changes as another process would, now or at the time `at`."""
    store = organization.store
    store.append(store.head(), LogWrite(at or organization.control.now, None, "elsewhere", changes))
    organization.control.catch_up()


def queued(organization: Organization, *names: str, pipeline: ResourceId = DELAYS, **more: Any) -> None:
    """Queue runs in the name of the deployment."""
    for name in names:
        organization.control.execute(QueueRun(RunId(name), pipeline, **more), None)


def runs(organization: Organization, *states: str) -> list[RunRow]:
    """Return the runs in these states, or all runs, in the order of the queue."""
    return list(organization.store.runs(RunFilter(states=states or None), 10_000))[::-1]


def row(organization: Organization, name: str) -> RunRow:
    """Return an existing run."""
    found = organization.store.run(RunId(name))
    assert found is not None
    return found


def log(organization: Organization, name: str) -> str:
    """Return the log of a run."""
    return "\n".join(each.text for each in organization.store.log_lines(RunId(name)))


@dataclass
class Work:
    """The work of attempts: for each run, the next of the test's functions, or none; records the executed attempts."""

    by_run: Mapping[str, list[ExecuteAttempt]] = field(default_factory=dict[str, list[ExecuteAttempt]])
    done: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, attempt: Attempt) -> None:
        """Execute the attempt."""
        with self.lock:
            self.done.append((attempt.row.run, attempt.row.attempt))
            steps = self.by_run.get(attempt.row.run, [])
            step = steps.pop(0) if steps else None
        if step is not None:
            step(attempt)


def worker(organization: Organization, work: ExecuteAttempt, settings: WorkerSettings = QUICK, **more: Any) -> Worker:
    """Return a worker of one organization; the caller starts and stops it."""
    return Worker(organization.control.catch_up, lambda: [organization], work, settings, **more)


def until(happened: Callable[[], bool], within: float = WITHIN) -> None:
    """Wait for an event."""
    deadline = time.monotonic() + within
    while not happened():
        assert time.monotonic() < deadline, "the awaited event did not happen"
        time.sleep(0.005)


def raising(error: Exception) -> ExecuteAttempt:
    """Return an attempt's work that raises an error."""

    def perform(_: Attempt) -> None:
        raise error

    return perform


def lasting(attempt: Attempt) -> None:
    """Wait until the attempt must end, and then fail."""
    attempt.wait(WITHIN)
    raise RuntimeError("interrupted")
