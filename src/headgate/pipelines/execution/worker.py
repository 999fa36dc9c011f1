"""A worker: claims due runs, executes each attempt in a thread, and supervises the attempts until they end."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from headgate.control.kernel.errors import CommandError
from headgate.control.kernel.ids import new_id
from headgate.control.kernel.ports import Head, LogRefusedError, RunConflictError, StoreError
from headgate.control.kernel.run_queue import QUEUED, RUNNING, RunFilter
from headgate.control.kernel.supervision import BackgroundTasks, BackgroundThread, Heartbeat
from headgate.control.organizations.organization import Organization
from headgate.control.pipelines.run_as import find_continuation_refusal
from headgate.control.pipelines.runs import EndOrphanedRun, EndRun, ReclaimRun
from headgate.facts.ids import ResourceId
from headgate.pipelines.errors import Failure, describe_failure
from headgate.pipelines.execution.attempt import Attempt, AttemptOutcome, StopReason, outcome_of
from headgate.pipelines.execution.claims import Claims
from headgate.pipelines.lineage.recorder import LineageRecorder
from headgate.pipelines.scheduling.scheduler import Scheduler

log = logging.getLogger(__name__)

SETTLING: Final = 3.0
"""The delay in seconds before a reclaimed run begins again: by then the gateway has cut the work of its lost attempt."""
_LOOKED: Final = 1000
"""The maximum number of due runs that one round considers."""

_ENDANGERS: Final = "no run begins, and running attempts lose their leases and outlive revoked privileges"

ExecuteAttempt = Callable[[Attempt], None]
"""Executes an attempt. An exception means that it failed."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """The settings of one worker. Times are in seconds."""

    slots: int = 4
    """The maximum number of attempts under way."""
    round: float = 0.5
    renewed: float = 5.0
    lease: float = 20.0
    """The time after its last sign of life at which a worker counts as lost, and others reclaim its runs."""
    grace: float = 10.0
    """The time that an attempt has to stop after it is asked to."""
    name: str = field(default_factory=lambda: new_id("worker"))


class Worker:
    """Executes runs of all organizations that this deployment serves. Created in one thread, used from several."""

    def __init__(
        self,
        refresh: Callable[[], None],
        served: Callable[[], Iterable[Organization]],
        perform: ExecuteAttempt,
        settings: WorkerSettings | None = None,
        room: Callable[[str], int] = lambda _: _LOOKED,
        ready: Callable[[], bool] = lambda: True,
        lacking: Callable[[Organization, str], str] = lambda *_: "",
        lineage: LineageRecorder | None = None,
    ) -> None:
        """`refresh` reads what other processes have written; `room` returns how many runs a cluster may have.

        No run begins unless Spark is `ready`, or on a cluster for which `lacking` returns a reason.
        """
        self.settings = settings or WorkerSettings()
        self._refresh = refresh
        self._served = served
        self._perform = perform
        self._ready = ready
        self._lineage = lineage or LineageRecorder()
        self._claims = Claims(self.settings.name, self.settings.lease, room, lacking)
        self._heartbeat = Heartbeat(self.settings.lease)
        self._attempts = list[_RunningAttempt]()
        self._schedulers = dict[ResourceId, Scheduler]()
        self._woken = threading.Event()
        self._ending = threading.Event()
        self._thread: BackgroundThread | None = None

    def start(self, tasks: BackgroundTasks | None = None) -> None:
        """Start the thread that claims runs."""
        self._thread = (tasks or BackgroundTasks()).start_thread("worker", self._loop, _ENDANGERS, self._heartbeat)

    def wake(self) -> None:
        """Start the next round at once, because a run is due."""
        self._woken.set()

    @property
    def under_way(self) -> int:
        """The number of attempts under way in this worker."""
        return len(self._attempts)

    def stop(self) -> None:
        """Claim no more runs. Runs under way are stopped and queued again, for other workers."""
        self._ending.set()
        self._woken.set()
        if self._thread is not None:
            self._thread.stop()
        self._lineage.close()

    def _loop(self) -> None:
        while not self._ending.is_set():
            self._watch_over_attempts()
            served = self._for_each_organization()
            for organization in served:
                self._safely(partial(self._serve, organization, served))
            self._woken.wait(self.settings.round)
            self._woken.clear()
        for each in self._attempts:
            each.attempt.stop(StopReason.ENDING)
        while self._attempts:
            self._watch_over_attempts()
            time.sleep(_SOON)

    def _watch_over_attempts(self) -> None:
        """Read the newest facts and supervise every attempt. If a step fails, there is no heartbeat: a revoke may not stop runs."""
        is_current = self._safely(self._refresh)
        if self._supervise() and is_current:
            self._heartbeat.beat()

    def _for_each_organization(self) -> tuple[Organization, ...]:
        found = list[Organization]()
        self._safely(lambda: found.extend(self._served()))
        return tuple(found)

    def _serve(self, organization: Organization, served: Iterable[Organization]) -> None:
        if organization.control.snapshot.is_suspended:
            return
        if organization.id not in self._schedulers:
            _end_orphans(organization)
            self._schedulers[organization.id] = Scheduler(organization.control, organization.store)
        self._schedulers[organization.id].tick()
        self._take_over(organization)
        self._begin(organization, self._count_free_slots(organization, served))

    def _count_free_slots(self, organization: Organization, served: Iterable[Organization]) -> int:
        """Return how many runs of an organization may begin.

        Runs may never end, such as those of stream captures. So a slot is reserved for every other organization without a run.
        """
        busy = {each.attempt.organization.id for each in self._attempts}
        waiting = {each.id for each in served if not each.control.snapshot.is_suspended} - busy - {organization.id}
        free = max(0, self.settings.slots - len(self._attempts))
        return max(free - len(waiting), 0 if organization.id in busy else min(free, 1))

    def _take_over(self, organization: Organization) -> None:
        control = organization.control
        lost = organization.store.runs(RunFilter(states=(RUNNING,), lease_before=control.now), _LOOKED)
        for row in lost:
            with suppress(RunConflictError, CommandError):  # another worker reclaimed it, or its own renewed late
                control.execute(ReclaimRun(row, due=control.now + SETTLING), None)

    def _begin(self, organization: Organization, free: int) -> None:
        """Begin due runs, up to the number of free slots."""
        if not free:
            return
        store = organization.store
        each = free + self._claims.count_tried_runs()
        wanted = RunFilter(states=(QUEUED,), due_before=organization.control.now, of_each=each)
        due = store.runs(wanted, _LOOKED + each * self._claims.waiting_pipelines)
        if not due or not self._ready():
            return
        running = Counter(row.cluster for row in store.runs(RunFilter(states=(RUNNING,)), _LOOKED))
        for row in due:
            attempt = self._claims.begin(organization, row, running)
            if attempt is not None:
                running[attempt.row.cluster] += 1
                self._attempts.append(_RunningAttempt(attempt, self.settings, self._perform, self.wake, self._lineage))
                free -= 1
            if not free:
                return

    def _supervise(self) -> bool:
        """Supervise every attempt, and return whether that succeeded for all."""
        succeeded = [self._safely(each.look_after) for each in self._attempts]
        self._attempts = [each for each in self._attempts if not each.over]
        return all(succeeded)

    def _safely(self, work: Callable[[], None]) -> bool:
        """Run a step of the worker, log its error, and return whether it succeeded."""
        try:
            work()
        except StoreError as error:
            log.warning("the worker is waiting for the store: %s", error)
        except Exception:
            # If the worker stopped here, all other runs would wait.
            log.exception("the worker continues after an internal error")
        else:
            return True
        return False


def _end_orphans(organization: Organization) -> None:
    """End runs of a Headgate version from before the queue: otherwise their pipelines would count as running for ever."""
    for run in tuple(organization.control.snapshot.runs):
        if organization.store.run(run) is None:
            organization.control.execute(EndOrphanedRun(run), None)


_SOON: Final = 0.05
_TOLD_EVERY: Final = 1.0
"""The interval in seconds at which changed figures are written."""


class _RunningAttempt:
    """An attempt in its thread, and its supervision: lease, timeout, journal and outcome."""

    def __init__(
        self,
        attempt: Attempt,
        settings: WorkerSettings,
        perform: ExecuteAttempt,
        done: Callable[[], None],
        lineage: LineageRecorder,
    ) -> None:
        self.attempt = attempt
        self.over = False
        """Whether the attempt needs no more supervision."""
        self._settings = settings
        self._perform = perform
        self._done = done
        self._lineage = lineage
        self._good_until = attempt.began + settings.lease
        self._renew_at = attempt.began + settings.renewed
        self._tell_at = attempt.began
        self._told = attempt.journal.figures
        self._judged: tuple[tuple[int, Head] | None, float] = (None, 0.0)
        """The position of the log at which the required privileges were checked last, and the time of that check."""
        threading.Thread(target=self._carry_out, name=attempt.row.run, daemon=True).start()

    def look_after(self) -> None:
        """Supervise the attempt: called every round, from one thread."""
        attempt, now = self.attempt, time.monotonic()
        if self.over:
            return
        timeout = attempt.definition.timeout
        if timeout is not None and now - attempt.began > timeout:
            attempt.stop(StopReason.TIMEOUT)
        with suppress(LogRefusedError):
            self._go_on(now)
        if now > self._good_until:
            attempt.stop(StopReason.LOST)
        with suppress(StoreError):
            attempt.journal.write()
        if attempt.stopped_at is not None and now - attempt.stopped_at > self._settings.grace:
            # The gateway cuts its remaining work when the run identity ends.
            self._end(
                Failure(f"the attempt did not stop within {self._settings.grace:g} seconds of the request to stop")
            )

    def _go_on(self, now: float) -> None:
        """Stop the attempt if it was cancelled or lost a required privilege, and renew its lease when that is due.

        Raises `LogRefusedError` while the log of its organization cannot be read: the attempt then ends with its lease.
        """
        attempt = self.attempt
        if attempt.row.run not in attempt.organization.control.snapshot.runs:
            attempt.stop(StopReason.CANCELLED)
        self._check_rights(now)
        if now >= self._renew_at or (now >= self._tell_at and attempt.journal.figures != self._told):
            self._renew_lease(now)

    def _check_rights(self, now: float) -> None:
        """Stop the attempt if it lost a privilege that it began with: its statements do not check all of them again."""
        control, (position, at) = self.attempt.organization.control, self._judged
        if control.position == position and now < at + self._settings.renewed:
            return
        self._judged = (control.position, now)
        why = find_continuation_refusal(control.answers, self.attempt.row.run, control.now)
        if why is not None:
            self.attempt.refuse(why)

    def _renew_lease(self, now: float) -> None:
        try:
            kept = self._renew()
        except StoreError:
            return
        if kept:
            self._good_until, self._renew_at = now + self._settings.lease, now + self._settings.renewed
            self._tell_at = now + _TOLD_EVERY
        else:
            self.attempt.stop(StopReason.LOST)

    def _renew(self) -> bool:
        """Extend the lease; return whether this attempt still is the one under way. Raises `StoreError`."""
        row, organization = self.attempt.row, self.attempt.organization
        lease = organization.control.now + self._settings.lease
        self._told = self.attempt.journal.figures
        return organization.store.renew(row.run, row.worker, row.attempt, lease, self._told)

    def _carry_out(self) -> None:
        found: Failure | None = None
        self._lineage.record_start(self.attempt.organization, self.attempt.row.run)
        try:
            self._perform(self.attempt)
        except BaseException as error:  # noqa: BLE001 (any error that ends an attempt goes to its log)
            found = describe_failure(error)
        self.attempt.mark_ended()
        self._end(found)

    def _end(self, found: Failure | None) -> None:
        attempt = self.attempt
        if not attempt.close_once():
            return
        try:
            self._write(outcome_of(attempt, found, attempt.organization.control.now))
            if attempt.stop_reason is not StopReason.LOST:  # otherwise another worker records the end
                self._lineage.record_end(attempt.organization, attempt.row.run)
        finally:
            self.over = True
            self._done()

    def _write(self, what: AttemptOutcome) -> None:
        """Write the outcome, unless the run was cancelled or another worker has it; wait while the store is unavailable."""
        attempt, journal = self.attempt, self.attempt.journal
        for name, value in what.counted.items():
            journal.note(name, value)
        if what.why:
            journal.say(what.why)
        journal.close()
        end = EndRun(attempt.row, what.state, what.why, journal.figures, what.due)
        while attempt.stop_reason not in (StopReason.LOST, StopReason.CANCELLED):
            try:
                if not self._renew():
                    return
                journal.write()
                attempt.organization.control.execute(end, None)
            except StoreError:
                time.sleep(self._settings.round)
                continue
            except (RunConflictError, CommandError) as error:
                log.info("the end of the run `%s` was written already: %s", attempt.row.run, error)
            return
