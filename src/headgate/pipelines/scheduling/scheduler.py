"""The schedules of one organization: what has come round is queued, by the clock or after another pipeline."""

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
    """Say whether what comes before a pipeline, and before that, is at last the pipeline itself."""
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
"""The kind of document that says up to which revision, and until when, schedules have been looked after."""
_ID: Final = "followed"
_KEPT_EVERY: Final = 10.0
"""Seconds between two of its writings; what is looked at again for want of one is queued once all the same."""
_CHANGED_BY = (AttributesSet, RelationsSet, ResourceCreated, ResourceDeleted, ResourceRenamed, RunAsSet)


@dataclass(frozen=True, slots=True)
class _PlannedRun:
    schedule: Schedule
    due: float | None


class Scheduler:
    """Follows the log of one organization. Several may do so side by side: what comes round is queued once.

    While a run that it has queued waits, it queues no other by the same trigger. A time that passed while nobody followed
    is made up for, once however many passed; one whose pipeline was changed since is not.
    """

    def __init__(self, control: Control, store: Store) -> None:
        self._control = control
        self._store = store
        self._planned = dict[ResourceId, _PlannedRun]()
        self._heap = list[tuple[float, ResourceId]]()
        """When pipelines come round, soonest first; what is not as planned any more is passed over."""
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
        """Take over what has changed, and queue what has come round. Raises `StoreError`."""
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
        """Return which pipelines have changed, and when last, and which runs have succeeded."""
        (reopened, _), newest = self._control.position, self._control.snapshot.revision
        changed, ended = dict[ResourceId, float](), list[RunId]()
        if reopened > self._reopened:
            # What was followed may be of entries that the log has lost.
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
        """Take over a pipeline as it is; its schedule counts from `since`, or goes on where it is as it was."""
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
            log.exception("the schedule of `%s` cannot be read, and begins no runs", id)
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
        # Still the first: what is planned anew comes later. Popped last, so that a store that fails loses nothing.
        heapq.heappop(self._heap)

    def _follow(self, run: RunId) -> None:
        """Queue what comes after the pipeline of a run that has succeeded."""
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
        """Say whether it does, which its saving refuses only where whoever saved it may see the others."""
        found = has_cycle(id, self._predecessors)
        if found:
            log.warning("`%s` comes after itself, by way of others, and its schedule does not begin it", id)
        return found

    def _predecessors(self, id: ResourceId) -> list[ResourceId]:
        """Return the pipelines whose runs begin those of this one, of those that have a schedule themselves."""
        planned, facts = self._planned.get(id), self._control.snapshot
        if planned is None or planned.schedule.after is None:
            return []
        there = [facts.resources[each] for each in self._planned if each in facts.resources]
        return [each.id for each in there if each.name == planned.schedule.after and same_project(facts, id, each.id)]

    def _may_follow(self, id: ResourceId, ended: ResourceId) -> bool:
        """Say whether the runs of a pipeline may know of another one: else they would tell when that runs."""
        run_as = self._control.snapshot.run_as.get(id)
        return run_as is not None and self._control.is_visible(Caller(run_as), ended)

    def _queue(self, pipeline: ResourceId, trigger: str, due: float, what: str) -> None:
        # One that waits has all that has come since before it, too.
        waiting = self._store.runs(RunFilter(pipeline, states=(QUEUED,)))
        if any(each.trigger == trigger for each in waiting):
            return
        try:
            self._control.execute(QueueRun(scheduled_run_id(pipeline, trigger, what), pipeline, trigger, due), None)
        except (CommandError, RunConflictError) as error:
            # Somebody else has queued it, or it may not run now: inactive, or one that waits is queued already.
            log.info("`%s` is not queued: %s", pipeline, error)

    def _keep(self, now: float) -> None:
        if self._revision != self._kept and now - self._at >= _KEPT_EVERY:
            self._store.put_document(DocumentPut(FOLLOWED, _ID, {"revision": self._revision, "at": now}))
            self._kept, self._at = self._revision, now


def scheduled_run_id(pipeline: ResourceId, trigger: str, what: str) -> RunId:
    """Return the id of the run that a pipeline has by this: whoever queues it, it is the same one."""
    return RunId("run_" + hashlib.sha256(f"{pipeline} {trigger} {what}".encode()).hexdigest()[:32])


def same_project(facts: Snapshot, one: ResourceId, other: ResourceId) -> bool:
    """Say whether two resources lie in one project, or are it: by a name, a schedule means a pipeline beside its own."""
    return _project(facts, one) == _project(facts, other)


def _project(facts: Snapshot, id: ResourceId) -> ResourceId | None:
    """Return the project that something is, or lies in."""
    found = facts.resources.get(id)
    above = (found, *facts.ancestors(id)) if found is not None else ()
    return next((each.id for each in above if each.type == "project"), None)
