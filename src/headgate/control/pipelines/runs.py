"""Runs of pipelines: users and schedules queue them, the deployment starts and ends them, and users may cancel them.

A command has the run as it was read (`RunRow`), and is written only if the run is unchanged. The run's identity exists, and
its secret is valid, from `StartRun` until the attempt ends.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from headgate.control.identity.tokens import token_document
from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.errors import InvalidError, NotFoundError
from headgate.control.kernel.ports import DocumentPut
from headgate.control.kernel.run_queue import (
    CANCELLED,
    ENDED_STATES,
    FAILED,
    QUEUED,
    REFUSED,
    RUNNING,
    TRIGGERS,
    RunRow,
    RunUpdate,
)
from headgate.control.pipelines.run_as import find_start_refusal
from headgate.control.resources.attributes import STATE
from headgate.decision.caller_validity import caller_invalid
from headgate.facts.caller import Caller
from headgate.facts.changes import Change, RunEnded, RunStarted
from headgate.facts.ids import ResourceId, RunId
from headgate.facts.snapshot import Resource, Snapshot

SECRET = "run_secret"  # noqa: S105 (the kind of a document with the hash)
"""The kind of document with the hash of a run's secret, while an attempt is under way."""

LOST = "lost"
"""The end state of an attempt whose worker stopped renewing its lease."""


class RunNotReadyError(InvalidError):
    """The run cannot begin yet; the message says for what it waits."""


class PipelineWaitingError(RunNotReadyError):
    """No run of the pipeline can begin now, whichever of its queued runs is tried."""


@dataclass(frozen=True, slots=True)
class QueueRun:
    """Queue a run of the pipeline, which begins not before `due` (seconds since the epoch; None = now).

    `since` and `until` are the range of a backfill.
    """

    run: RunId
    pipeline: ResourceId
    trigger: str = "manual"
    due: float | None = None
    since: str | None = None
    until: str | None = None
    name: str = "run.queue"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `trigger`, or the model's equivalent. A paused or inactive pipeline accepts no runs."""
        found = view.target(self.pipeline)
        view.require_operation(self.name, {"pipeline": found})
        if self.trigger not in TRIGGERS:
            raise InvalidError(f"`{self.trigger}` is not a trigger of runs; choose from {', '.join(TRIGGERS)}")
        view.free_id(self.run)
        state = _state(found)
        if state != "active":
            raise InvalidError(
                f"the pipeline `{found.name}` is {state} and accepts no runs; activate or resume it first"
            )
        row = RunRow(
            run=self.run,
            pipeline=found.id,
            state=QUEUED,
            trigger=self.trigger,
            actor=view.actor,
            queued=view.now,
            due=view.now if self.due is None else self.due,
            why=_describe_run_as_fault(view, found) or "",
            since=self.since,
            until=self.until,
        )
        return CommandEffect((), runs=(RunUpdate(row, None),))


@dataclass(frozen=True, slots=True)
class StartRun:
    """Start an attempt of a queued run. Its identity may use declared resources only, with the run-as principal's privileges.

    `worker` executes it, with a lease until `lease` (seconds since the epoch); `secret` is the secret of its identity.
    `at_once` is the maximum number of concurrent runs of the pipeline. If the run-as principal may no longer use a declared
    resource, the run ends as `refused`; if the pipeline was deleted, as `cancelled`.
    """

    row: RunRow
    worker: str
    lease: float
    secret: str
    at_once: int = 1
    cluster: str = ""
    name: str = "run.start"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require that the deployment starts it. Raises `RunNotReadyError` if the run cannot begin yet."""
        _only_deployment(view)
        if view.facts.is_suspended:
            raise RunNotReadyError(
                "the organization is suspended, so its runs wait; ask the operator of this deployment to resume it"
            )
        if self.row.state != QUEUED:
            raise InvalidError(
                f"the run `{self.row.run}` is in the state {self.row.state} and cannot begin again; start a "
                "new run of the pipeline"
            )
        found = view.facts.resources.get(self.row.pipeline)
        if found is None:
            return _end_run(view, self.row, CANCELLED, "the pipeline was deleted")
        self._may_begin(view, found)
        run_as = view.facts.run_as[found.id]
        why = find_start_refusal(view, found, run_as)
        if why is not None:
            return _end_run(view, self.row, REFUSED, why)
        row = replace(
            self.row,
            state=RUNNING,
            started=self.row.started or view.now,
            attempt=self.row.attempt + 1,
            worker=self.worker,
            lease=self.lease,
            cluster=self.cluster,
            why="",
        )
        secret = DocumentPut(SECRET, row.run, token_document(run_as, self.secret))
        return CommandEffect((RunStarted(row.run, found.id, run_as),), (secret,), runs=(RunUpdate(row, self.row),))

    def _may_begin(self, view: CommandContext, found: Resource) -> None:
        if self.row.due > view.now:
            raise RunNotReadyError(f"the run `{self.row.run}` is not due yet; it begins when it is due")
        state = _state(found)
        if state != "active":
            raise PipelineWaitingError(
                f"the pipeline `{found.name}` is {state}, so its runs wait; activate or resume it"
            )
        fault = _describe_run_as_fault(view, found)
        if fault is not None:
            raise PipelineWaitingError(fault)
        running = sum(each.pipeline == found.id for each in view.facts.runs.values())
        if running >= self.at_once:
            raise PipelineWaitingError(
                f"the pipeline `{found.name}` has as many running runs as may run at the same time ({self.at_once}); the "
                "run begins when one of them has ended"
            )


@dataclass(frozen=True, slots=True)
class EndRun:
    """End an attempt and delete its identity. With the state `queued` another attempt follows, not before `due`.

    A run that is still queued can be ended too.
    """

    row: RunRow
    state: str
    why: str = ""
    figures: Mapping[str, Any] | None = None
    due: float | None = None
    name: str = "run.end"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require that the deployment ends it."""
        _only_deployment(view)
        _not_ended(self.row)
        row = replace(self.row, figures=self.row.figures if self.figures is None else self.figures)
        if self.state == QUEUED:
            return _again(view, row, FAILED, self.why, self.due)
        if self.state not in ENDED_STATES:
            raise InvalidError(f"`{self.state}` is not an end state of runs; choose from {', '.join(ENDED_STATES)}")
        return _end_run(view, row, self.state, self.why)


@dataclass(frozen=True, slots=True)
class ReclaimRun:
    """Queue a run again whose worker stopped renewing its lease. The old attempt is over, even if its worker still works."""

    row: RunRow
    why: str = "the worker of the attempt stopped responding"
    due: float | None = None
    name: str = "run.take_over"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require that the deployment does it, after the lease has ended."""
        _only_deployment(view)
        if self.row.state != RUNNING or (self.row.lease is not None and self.row.lease >= view.now):
            raise InvalidError(
                f"the run `{self.row.run}` cannot be taken over: it is not running, or the lease of its worker has not "
                "expired; leave it to its worker"
            )
        return _again(view, self.row, LOST, self.why, self.due)


@dataclass(frozen=True, slots=True)
class EndOrphanedRun:
    """Delete the identity of a run that is not in the queue: a version of Headgate before the queue left it behind."""

    run: RunId
    name: str = "run.end_stray"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require that the deployment does it, after it has searched the queue for the run."""
        _only_deployment(view)
        return CommandEffect(_identity_ended(view.facts, self.run, LOST))


def missing_run(run: str) -> NotFoundError:
    """Return the error for a run that does not exist or that the caller may not see."""
    return NotFoundError(
        f"there is no run `{run}` that you may see; `headgate run list` or `GET /api/v1/runs` lists the runs"
    )


@dataclass(frozen=True, slots=True)
class CancelRun:
    """Cancel a run and delete its identity: its next call is refused."""

    row: RunRow
    why: str = ""
    name: str = "run.cancel"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `cancel` on the pipeline, or, if the model does not have that action, the action that runs it."""
        found = view.facts.resources.get(self.row.pipeline)
        if found is None:
            raise missing_run(self.row.run)
        view.require_operation(self.name, {"pipeline": found})
        _not_ended(self.row)
        return _end_run(view, self.row, CANCELLED, self.why)


def requeue(view: CommandContext, row: RunRow, why: str) -> CommandEffect:
    """Return the effect that ends the attempt of a run and queues the run again."""
    return _again(view, row, CANCELLED, why, None)


def _only_deployment(view: CommandContext) -> None:
    if view.caller is not None:
        raise InvalidError(
            "Headgate starts and ends runs itself; to begin a run, trigger its pipeline, and to end a run, cancel it"
        )


def _not_ended(row: RunRow) -> None:
    if row.state in ENDED_STATES:
        raise InvalidError(
            f"the run `{row.run}` has ended already, in the state {row.state}; trigger its pipeline for a new run"
        )


def _end_run(view: CommandContext, row: RunRow, state: str, why: str) -> CommandEffect:
    ended = replace(row, state=state, ended=view.now, lease=None, why=why)
    return CommandEffect(_identity_ended(view.facts, row.run, state), _secret_gone(row), runs=(RunUpdate(ended, row),))


def _again(view: CommandContext, row: RunRow, attempt: str, why: str, due: float | None) -> CommandEffect:
    waiting = replace(row, state=QUEUED, lease=None, why=why, due=view.now if due is None else due)
    return CommandEffect(
        _identity_ended(view.facts, row.run, attempt), _secret_gone(row), runs=(RunUpdate(waiting, row),)
    )


def _identity_ended(facts: Snapshot, run: RunId, state: str) -> tuple[Change, ...]:
    return (RunEnded(run, state),) if run in facts.runs else ()


def _secret_gone(row: RunRow) -> tuple[DocumentPut, ...]:
    return (DocumentPut(SECRET, row.run, None),)


def _state(found: Resource) -> str:
    return next(iter(found.attributes.get(STATE, ())), "active")


def has_no_run_as(facts: Snapshot, pipeline: ResourceId, now: float) -> bool:
    """Return whether a pipeline has no valid run-as principal: it was removed or has expired."""
    run_as = facts.run_as.get(pipeline)
    return run_as is None or caller_invalid(facts, Caller(run_as), now) is not None


def _describe_run_as_fault(view: CommandContext, found: Resource) -> str | None:
    if not has_no_run_as(view.facts, found.id, view.now):
        return None
    return f"the run-as principal of `{found.name}` was removed or has expired; a user who may edit the pipeline must save it again"
