"""A worker: it takes the runs that are due, one attempt of each in a thread, and looks after them until they end."""

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
"""Seconds until a run that was taken over begins again: by then the gateway has cut what its former attempt left running."""
_LOOKED: Final = 1000
"""So many runs that are due are looked at in one round."""

_ENDANGERS: Final = "no run begins, and running attempts lose their leases and outlive revoked rights"

ExecuteAttempt = Callable[[Attempt], None]
"""Carries out an attempt. What it raises is how that ended."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """How one worker works. Times in seconds."""

    slots: int = 4
    """How many attempts it has under way."""
    round: float = 0.5
    renewed: float = 5.0
    lease: float = 20.0
    """So long after it was heard of last, a worker counts as lost, and others take its runs."""
    grace: float = 10.0
    """So long an attempt that is told to end has for that."""
    name: str = field(default_factory=lambda: new_id("worker"))


class Worker:
    """Takes runs of all the organizations that are served here. Made in one thread, used from several."""

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
        """`refresh` takes over what other processes have written, and `room` is how many runs a cluster takes.

        Nothing new is begun unless Spark is `ready`, nor on a cluster that is `lacking` something, as that says.
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
        """Begin to take runs."""
        self._thread = (tasks or BackgroundTasks()).start_thread("worker", self._loop, _ENDANGERS, self._heartbeat)

    def wake(self) -> None:
        """Look at once: something is due."""
        self._woken.set()

    @property
    def under_way(self) -> int:
        """How many attempts are under way here."""
        return len(self._attempts)

    def stop(self) -> None:
        """Take no more runs; those under way are ended and queued again, for whoever else there is."""
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
        """Take over the newest facts and look after every attempt; where one fails, a revoke may not end an attempt."""
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

        Runs may never end, as stream captures do, so every other organization that has none under way keeps a slot free.
        """
        busy = {each.attempt.organization.id for each in self._attempts}
        waiting = {each.id for each in served if not each.control.snapshot.is_suspended} - busy - {organization.id}
        free = max(0, self.settings.slots - len(self._attempts))
        return max(free - len(waiting), 0 if organization.id in busy else min(free, 1))

    def _take_over(self, organization: Organization) -> None:
        control = organization.control
        lost = organization.store.runs(RunFilter(states=(RUNNING,), lease_before=control.now), _LOOKED)
        for row in lost:
            with suppress(RunConflictError, CommandError):  # another worker has, or its own was only late
                control.execute(ReclaimRun(row, due=control.now + SETTLING), None)

    def _begin(self, organization: Organization, free: int) -> None:
        """Begin what is due, as far as there is room."""
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
        """Return whether every attempt could be looked after."""
        succeeded = [self._safely(each.look_after) for each in self._attempts]
        self._attempts = [each for each in self._attempts if not each.over]
        return all(succeeded)

    def _safely(self, work: Callable[[], None]) -> bool:
        """Return whether it succeeded."""
        try:
            work()
        except StoreError as error:
            log.warning("the worker waits for the store: %s", error)
        except Exception:
            # A worker that ended here would leave every other run waiting.
            log.exception("the worker goes on after an error of its own")
        else:
            return True
        return False


def _end_orphans(organization: Organization) -> None:
    """End what a Headgate from before there was a queue has left: or the pipeline would count as running for ever."""
    for run in tuple(organization.control.snapshot.runs):
        if organization.store.run(run) is None:
            organization.control.execute(EndOrphanedRun(run), None)


_SOON: Final = 0.05
_TOLD_EVERY: Final = 1.0
"""Seconds between two writings of figures that have changed."""


class _RunningAttempt:
    """An attempt in its thread, and whoever looks after it: its lease, its time, its journal, and its end."""

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
        """Whether there is nothing to look after any more."""
        self._settings = settings
        self._perform = perform
        self._done = done
        self._lineage = lineage
        self._good_until = attempt.began + settings.lease
        self._renew_at = attempt.began + settings.renewed
        self._tell_at = attempt.began
        self._told = attempt.journal.figures
        self._judged: tuple[tuple[int, Head] | None, float] = (None, 0.0)
        """The position of the log at which its rights were last looked at, and when."""
        threading.Thread(target=self._carry_out, name=attempt.row.run, daemon=True).start()

    def look_after(self) -> None:
        """Do what is due: called every round, from one thread."""
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
            # Whatever it still does ends with its identity.
            self._end(Failure("it did not end when it was told to"))

    def _go_on(self, now: float) -> None:
        """End it if it was cancelled or lost a right, and renew its lease when that is due.

        Raises `LogRefusedError` while its organization's log cannot be read: then it ends with its lease.
        """
        attempt = self.attempt
        if attempt.row.run not in attempt.organization.control.snapshot.runs:
            attempt.stop(StopReason.CANCELLED)
        self._check_rights(now)
        if now >= self._renew_at or (now >= self._tell_at and attempt.journal.figures != self._told):
            self._renew_lease(now)

    def _check_rights(self, now: float) -> None:
        """End it if a right is lost that it began with: not all of them are asked about again by what it does."""
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
        """Put off the end of the lease; return whether the attempt still is the one under way. Raises `StoreError`."""
        row, organization = self.attempt.row, self.attempt.organization
        lease = organization.control.now + self._settings.lease
        self._told = self.attempt.journal.figures
        return organization.store.renew(row.run, row.worker, row.attempt, lease, self._told)

    def _carry_out(self) -> None:
        found: Failure | None = None
        self._lineage.record_start(self.attempt.organization, self.attempt.row.run)
        try:
            self._perform(self.attempt)
        except BaseException as error:  # noqa: BLE001 (whatever ends an attempt is said in its log)
            found = describe_failure(error)
        self.attempt.mark_ended()
        self._end(found)

    def _end(self, found: Failure | None) -> None:
        attempt = self.attempt
        if not attempt.close_once():
            return
        try:
            self._write(outcome_of(attempt, found, attempt.organization.control.now))
            if attempt.stop_reason is not StopReason.LOST:  # else another worker ends it
                self._lineage.record_end(attempt.organization, attempt.row.run)
        finally:
            self.over = True
            self._done()

    def _write(self, what: AttemptOutcome) -> None:
        """Write how it ended, unless it is nobody's any more or another's by now; wait for a store that is away."""
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
                log.info("the run `%s` has been ended already: %s", attempt.row.run, error)
            return
