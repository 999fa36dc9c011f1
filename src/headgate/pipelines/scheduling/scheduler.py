"""The scheduler of one organization: queues due runs, by cron expression or after another pipeline."""

import hashlib
import heapq
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from headgate.control.control import Control
from headgate.control.kernel.errors import CommandError
from headgate.control.kernel.ports import DocumentPut, RunConflictError, Store
from headgate.control.kernel.run_queue import QUEUED, RunFilter
from headgate.control.pipelines.runs import QueueRun
from headgate.control.resources.attributes import STATE
from headgate.facts.caller import Caller
from headgate.facts.changes import (
    AttributesSet,
    RelationsSet,
    ResourceCreated,
    ResourceDeleted,
    ResourceRenamed,
    RunAsSet,
    RunEnded,
)
from headgate.facts.ids import ResourceId, RunId
from headgate.facts.snapshot import Resource, Snapshot
from headgate.pipelines.definitions.cron import last_until, next_after
from headgate.pipelines.definitions.definition import Schedule
from headgate.pipelines.kinds import KINDS

T = TypeVar("T")


def has_cycle(start: T, before: Callable[[T], Iterable[T]]) -> bool:
    """Whether a pipeline is among its own direct or indirect predecessors."""
    known, left = set[T](), list(before(start))
    while left:
        each = left.pop()
        if each == start:
            return True
        if each not in known:
            known.add(each)
            left.extend(before(each))
    return False


log = logging.getLogger(__name__)

FOLLOWED: Final = "schedules"
"""The kind of the document with the revision and the time up to which schedules have been evaluated."""
_ID: Final = "followed"
_KEPT_EVERY: Final = 10.0
"""The interval in seconds at which that document is written. Evaluating a time twice queues its run only once."""
_CHANGED_BY = (AttributesSet, RelationsSet, ResourceCreated, ResourceDeleted, ResourceRenamed, RunAsSet)


@dataclass(frozen=True, slots=True)
class _PlannedRun:
    schedule: Schedule
    due: float | None


class Scheduler:
    """Follows the log of one organization and queues due runs. Several schedulers may run in parallel: each run is queued once.

    While a queued run of a pipeline waits, no other is queued by the same trigger. If times passed while no scheduler ran, one
    run is queued for all of them, unless the pipeline was changed since.
    """

    def __init__(self, control: Control, store: Store) -> None:
        self._control = control
        self._store = store
        self._planned = dict[ResourceId, _PlannedRun]()
        self._heap = list[tuple[float, ResourceId]]()
        """The due times of pipelines, the earliest first; entries that differ from `_planned` are skipped."""
        followed = store.document(FOLLOWED, _ID) or {}
        self._revision = int(followed.get("revision", control.snapshot.revision))
        self._reopened = control.position[0]
        self._at = float(followed.get("at", control.now))
        self._kept = -1
        self._changed, ended = self._read_changes()
        documents = store.documents("pipeline")
        for id in documents:
            self._plan(ResourceId(id), self._changed.get(ResourceId(id), self._at), documents[id])
        self._changed.clear()
        self._ended = list(ended)

    def tick(self) -> None:
        """Apply the changes since the last call, and queue due runs. Raises `StoreError`."""
        changed, ended = self._read_changes()
        self._changed |= changed
        self._ended += ended
        while self._changed:
            id, at = next(iter(self._changed.items()))
            self._plan(id, at, self._store.document("pipeline", id))
            del self._changed[id]
        while self._ended:
            self._follow(self._ended[0])
            self._ended.pop(0)
        now = self._control.now
        while self._heap and self._heap[0][0] <= now:
            self._due(*self._heap[0], now)
        self._keep(now)

    def _read_changes(self) -> tuple[dict[ResourceId, float], list[RunId]]:
        """Return the changed pipelines with the time of the last change, and the runs that have succeeded."""
        (reopened, _), newest = self._control.position, self._control.snapshot.revision
        changed, ended = dict[ResourceId, float](), list[RunId]()
        if reopened > self._reopened:
            # The log was replaced: schedules may have been evaluated on entries that it does not have any more.
            there = (*self._planned, *map(ResourceId, self._store.documents("pipeline")))
            self._reopened, self._revision = reopened, newest
            return dict.fromkeys(there, self._control.now), ended
        if newest == self._revision:
            return changed, ended
        for entry in self._store.entries(self._revision):
            if entry.revision > newest:
                break
            for change in entry.changes:
                if isinstance(change, _CHANGED_BY):
                    changed[change.resource] = entry.at
                elif isinstance(change, RunEnded) and change.state == "succeeded":
                    ended.append(change.run)
        self._revision = newest
        return changed, ended

    def _plan(self, id: ResourceId, since: float, document: Mapping[str, Any] | None) -> None:
        """Plan the schedule of a pipeline. A new or changed schedule counts from `since`; an unchanged one continues."""
        schedule = self._parse_schedule(id, document)
        if schedule is None:
            self._planned.pop(id, None)
            return
        before = self._planned.get(id)
        if before is None or before.schedule != schedule:
            self._set(id, schedule, since)

    def _parse_schedule(self, id: ResourceId, document: Mapping[str, Any] | None) -> Schedule | None:
        resource = self._control.snapshot.resources.get(id)
        if resource is None or resource.type not in KINDS or document is None or not document.get("schedule"):
            return None
        if resource.attributes.get(STATE, ("active",)) != ("active",):
            return None
        try:
            return Schedule.model_validate(document["schedule"])
        except ValidationError:
            log.exception("the schedule of the pipeline `%s` is invalid and starts no runs; correct its definition", id)
            return None

    def _set(self, id: ResourceId, schedule: Schedule, since: float) -> None:
        due = next_after(schedule.cron, schedule.timezone, since) if schedule.cron else None
        self._planned[id] = _PlannedRun(schedule, due)
        if due is not None:
            heapq.heappush(self._heap, (due, id))

    def _due(self, due: float, id: ResourceId, now: float) -> None:
        planned = self._planned.get(id)
        if planned is not None and planned.due == due and planned.schedule.cron:
            newest = last_until(planned.schedule.cron, planned.schedule.timezone, now) or due
            self._queue(id, "schedule", newest, f"{newest}")
            self._set(id, planned.schedule, newest)
        # This entry is still the first: the new plan is later. It is removed last, so that an error of the store loses no run.
        heapq.heappop(self._heap)

    def _follow(self, run: RunId) -> None:
        """Queue runs of the pipelines that follow the pipeline of a successful run."""
        row = self._store.run(run)
        ended = self._control.snapshot.resources.get(row.pipeline) if row else None
        for id in self._list_following(ended) if ended else ():
            self._queue(id, "after", self._control.now, run)

    def _list_following(self, ended: Resource) -> list[ResourceId]:
        facts = self._control.snapshot
        named = [id for id, planned in self._planned.items() if planned.schedule.after == ended.name]
        found = [id for id in named if same_project(facts, id, ended.id) and self._may_follow(id, ended.id)]
        return [id for id in found if not self._comes_after_itself(id)]

    def _comes_after_itself(self, id: ResourceId) -> bool:
        """Whether a pipeline follows itself. Saving refuses such a cycle only if the user may see the other pipelines."""
        found = has_cycle(id, self._predecessors)
        if found:
            log.warning(
                "the pipeline `%s` follows itself through other pipelines, so its schedule starts no runs; remove the cycle",
                id,
            )
        return found

    def _predecessors(self, id: ResourceId) -> list[ResourceId]:
        """Return the pipelines that this one follows, limited to those with a schedule of their own."""
        planned, facts = self._planned.get(id), self._control.snapshot
        if planned is None or planned.schedule.after is None:
            return []
        there = [facts.resources[each] for each in self._planned if each in facts.resources]
        return [each.id for each in there if each.name == planned.schedule.after and same_project(facts, id, each.id)]

    def _may_follow(self, id: ResourceId, ended: ResourceId) -> bool:
        """Whether a pipeline's run-as principal may see another pipeline: otherwise its runs would reveal when that one runs."""
        run_as = self._control.snapshot.run_as.get(id)
        return run_as is not None and self._control.is_visible(Caller(run_as), ended)

    def _queue(self, pipeline: ResourceId, trigger: str, due: float, what: str) -> None:
        # A run that is still queued will also process everything that has arrived since.
        waiting = self._store.runs(RunFilter(pipeline, states=(QUEUED,)))
        if any(each.trigger == trigger for each in waiting):
            return
        try:
            self._control.execute(QueueRun(scheduled_run_id(pipeline, trigger, what), pipeline, trigger, due), None)
        except (CommandError, RunConflictError) as error:
            # Another process has queued the run, or the pipeline is inactive or has a queued run already.
            log.info("no run of the pipeline `%s` is queued: %s", pipeline, error)

    def _keep(self, now: float) -> None:
        if self._revision != self._kept and now - self._at >= _KEPT_EVERY:
            self._store.put_document(DocumentPut(FOLLOWED, _ID, {"revision": self._revision, "at": now}))
            self._kept, self._at = self._revision, now


def scheduled_run_id(pipeline: ResourceId, trigger: str, what: str) -> RunId:
    """Return the id of a scheduled run, which depends only on its cause: every process that queues it uses the same id."""
    return RunId("run_" + hashlib.sha256(f"{pipeline} {trigger} {what}".encode()).hexdigest()[:32])


def same_project(facts: Snapshot, one: ResourceId, other: ResourceId) -> bool:
    """Whether two resources are in, or are, the same project: a name in `after` means a pipeline of the same project."""
    return _project(facts, one) == _project(facts, other)


def _project(facts: Snapshot, id: ResourceId) -> ResourceId | None:
    """Return the project that a resource is, or is in; None if there is none."""
    found = facts.resources.get(id)
    above = (found, *facts.ancestors(id)) if found is not None else ()
    return next((each.id for each in above if each.type == "project"), None)
