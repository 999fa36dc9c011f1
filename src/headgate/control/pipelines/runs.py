"""Runs of pipelines: queued by who may, begun and ended by the deployment, cancelled by who may.

A command is given the run as it was read (`RunRow`), and is written only if it still is so. Between `StartRun` and what ends
the attempt the run's identity exists, and its secret is good.
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

SECRET = "run_secret"  # noqa: S105 (the kind of a document, which keeps the hash)
"""The kind of document that keeps the hash of a run's secret, while an attempt is under way."""

TRIGGER = ("trigger", "create_run", "create_job", "resume")
"""What lets somebody run a pipeline: the first that the access model knows on its type."""

CANCEL = ("cancel", *TRIGGER[:-1], "pause")
"""What lets somebody cancel a run, likewise."""

LOST = "lost"
"""How an attempt ended whose worker was not heard of any more."""


class RunNotReadyError(InvalidError):
    """The run cannot begin yet; the message says what it waits for."""


class PipelineWaitingError(RunNotReadyError):
    """No run of the pipeline can begin now, whichever of its queued runs is tried."""


@dataclass(frozen=True, slots=True)
class QueueRun:
    """A run of the pipeline is to be carried out, not before `due` (seconds since the epoch; None = now).

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
        """Need `trigger`, or what the model calls it; a pipeline that is paused or inactive takes no runs."""
        found = view.target(self.pipeline)
        view.require_action(view.action(found, *TRIGGER), found.id)
        if self.trigger not in TRIGGERS:
            raise InvalidError(f"a run is begun by {', '.join(TRIGGERS)}, not by `{self.trigger}`")
        view.free_id(self.run)
        state = _state(found)
        if state != "active":
            raise InvalidError(f"`{found.name}` is {state}; it takes no runs before it is active again")
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
    """An attempt of a queued run begins: its identity may touch what is declared and what the run-as principal may touch.

    `worker` executes it and is believed to until `lease` (seconds since the epoch); `secret` is its identity's.
    `at_once` is how many runs of the pipeline may be under way. Where the run-as principal may not use any more what is
    declared, the run ends as `refused`; where the pipeline is gone, as `cancelled`.
    """

    row: RunRow
    worker: str
    lease: float
    secret: str
    at_once: int = 1
    cluster: str = ""
    name: str = "run.start"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Only the deployment begins a run. Raises `RunNotReadyError` for one that cannot begin yet."""
        _only_deployment(view)
        if view.facts.is_suspended:
            raise RunNotReadyError("the organization is suspended")
        if self.row.state != QUEUED:
            raise InvalidError(f"a run that is {self.row.state} does not begin")
        found = view.facts.resources.get(self.row.pipeline)
        if found is None:
            return _end_run(view, self.row, CANCELLED, "the pipeline is gone")
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
            raise RunNotReadyError("it is not due yet")
        state = _state(found)
        if state != "active":
            raise PipelineWaitingError(f"`{found.name}` is {state}")
        fault = _describe_run_as_fault(view, found)
        if fault is not None:
            raise PipelineWaitingError(fault)
        running = sum(each.pipeline == found.id for each in view.facts.runs.values())
        if running >= self.at_once:
            raise PipelineWaitingError(f"`{found.name}` is running, and {self.at_once} of its runs may at once")


@dataclass(frozen=True, slots=True)
class EndRun:
    """The attempt is over, and its identity with it. With the state `queued` there is another one, not before `due`.

    A run that is queued still can be ended too.
    """

    row: RunRow
    state: str
    why: str = ""
    figures: Mapping[str, Any] | None = None
    due: float | None = None
    name: str = "run.end"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Only the deployment ends a run."""
        _only_deployment(view)
        _not_ended(self.row)
        row = replace(self.row, figures=self.row.figures if self.figures is None else self.figures)
        if self.state == QUEUED:
            return _again(view, row, FAILED, self.why, self.due)
        if self.state not in ENDED_STATES:
            raise InvalidError(f"a run ends as {', '.join(ENDED_STATES)}, not as `{self.state}`")
        return _end_run(view, row, self.state, self.why)


@dataclass(frozen=True, slots=True)
class ReclaimRun:
    """The worker was not heard of any more: its attempt is over, whatever it still does, and the run is queued again."""

    row: RunRow
    why: str = "its worker was not heard of any more"
    due: float | None = None
    name: str = "run.take_over"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Only the deployment, and only after the lease."""
        _only_deployment(view)
        if self.row.state != RUNNING or (self.row.lease is not None and self.row.lease >= view.now):
            raise InvalidError(f"the run `{self.row.run}` is not lost")
        return _again(view, self.row, LOST, self.why, self.due)


@dataclass(frozen=True, slots=True)
class EndOrphanedRun:
    """An identity ends that no run of the queue has: a Headgate from before there was one left it."""

    run: RunId
    name: str = "run.end_stray"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Only the deployment, which has looked for the run."""
        _only_deployment(view)
        return CommandEffect(_identity_ended(view.facts, self.run, LOST))


@dataclass(frozen=True, slots=True)
class CancelRun:
    """The run is over before its time, and its identity with it: what it does next is refused."""

    row: RunRow
    why: str = ""
    name: str = "run.cancel"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Need `cancel` on the pipeline, or, where the model has no such word, what runs it."""
        found = view.facts.resources.get(self.row.pipeline)
        if found is None:
            raise NotFoundError(f"there is no run `{self.row.run}` that you may see")
        view.require_action(view.action(found, *CANCEL), found.id)
        _not_ended(self.row)
        return _end_run(view, self.row, CANCELLED, self.why)


def requeue(view: CommandContext, row: RunRow, why: str) -> CommandEffect:
    """Return what ends the attempt of a run and queues the run again."""
    return _again(view, row, CANCELLED, why, None)


def _only_deployment(view: CommandContext) -> None:
    if view.caller is not None:
        raise InvalidError("runs are begun and ended by the deployment")


def _not_ended(row: RunRow) -> None:
    if row.state in ENDED_STATES:
        raise InvalidError(f"the run has ended already: it {row.state if row.state != CANCELLED else 'was cancelled'}")


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
    """Say whether a pipeline's runs would have nobody's rights: its run-as principal is gone."""
    run_as = facts.run_as.get(pipeline)
    return run_as is None or caller_invalid(facts, Caller(run_as), now) is not None


def _describe_run_as_fault(view: CommandContext, found: Resource) -> str | None:
    if not has_no_run_as(view.facts, found.id, view.now):
        return None
    return f"the run-as principal of `{found.name}` is gone; somebody who may edit it has to save it"
