"""Runs of pipelines: how they go and went, and ending them. `triggers` begins them."""

import base64
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel

from headgate.control.kernel.command import model_has_action
from headgate.control.kernel.errors import NotFoundError
from headgate.control.kernel.ports import RunConflictError, Store
from headgate.control.kernel.run_queue import RunFilter, RunLogLine, RunRow
from headgate.control.organizations.organization import Organization
from headgate.control.pipelines.runs import CancelRun
from headgate.decision.context import model_for
from headgate.decision.types import Question
from headgate.endpoints.api.pipelines.figures import VisibleFigures
from headgate.endpoints.common.context import CurrentOrganization
from headgate.endpoints.common.evaluation_time import CurrentEvaluation, Evaluation
from headgate.endpoints.common.lookup import Text, full_name
from headgate.endpoints.common.paging import MAX_PAGE
from headgate.endpoints.common.problems import ProblemError
from headgate.endpoints.common.route_metadata import document_actions
from headgate.endpoints.common.schemas import Called, Time, page_model
from headgate.endpoints.common.subject_lookup import display_name_for
from headgate.endpoints.common.writes import DONE, Writes
from headgate.facts.ids import ResourceId, RunId
from headgate.facts.snapshot import Resource

router = APIRouter(tags=["pipelines"])

_SEEING = ("see_runs", "describe")
_LOGS = "see_logs"
_AT_A_TIME = 200
_TRIES = 5

_NO_CURSOR = ProblemError(422, "invalid", "this is no cursor of this list; begin again without one")

State = Literal["queued", "running", "succeeded", "failed", "cancelled", "refused"]


class RunSummary(BaseModel):
    """A run of a pipeline: its state, what began it, and its times (seconds since the epoch).

    `why` says what it waits for, or why it failed or was refused, to who may read its log. `attempts` were begun so far.
    """

    run: str
    pipeline: str
    name: str
    state: State
    trigger: str
    by: str | None
    queued: float
    due: float
    started: float | None
    ended: float | None
    attempts: int
    cluster: str
    why: str | None
    since: str | None
    until: str | None


class RunLogEntry(BaseModel):
    """A line of a run's log, and when it was said (seconds since the epoch)."""

    number: int
    at: float
    line: str


class Run(RunSummary):
    """A run with how far Spark is, what it has counted, and the beginning of its log, as far as the caller may read it.

    Counts of rows are for callers that may read the tables, or view the metrics of a table service.
    """

    progress: dict[str, float]
    metrics: dict[str, float]
    log: list[RunLogEntry]
    revision: int


class RunLogPage(BaseModel):
    """A part of a run's log. `next` is what to ask for the following part after; `ended` says that nothing follows."""

    items: list[RunLogEntry]
    next: int
    ended: bool


@router.get("/runs", response_model=page_model(RunSummary), **document_actions("{type}.see_runs"))
def list_runs(
    organization: CurrentOrganization,
    moment: CurrentEvaluation,
    pipeline: Annotated[Called | None, Query()] = None,
    state: Annotated[State | None, Query()] = None,
    since: Annotated[Time | None, Query(description="only those that were queued at this time or later")] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE, description="so many entries at most")] = 50,
    cursor: Annotated[Text | None, Query(max_length=2000, description="the `next` of the page before")] = None,
) -> dict[str, Any]:
    """List the runs of a pipeline, or of every pipeline, whose runs the caller may see, the newest first."""
    wanted = RunFilter(
        pipeline=moment.resource(pipeline).id if pipeline is not None else None,
        states=None if state is None else (state,),
        since=since,
        before=None if cursor is None else read_cursor(cursor),
    )
    found = list(islice(runs_for(organization.store, moment, wanted), limit + 1))
    page = found[:limit]
    last = page[-1][0] if len(found) > limit else None
    return {
        "items": [_line(organization, moment, row, pipeline) for row, pipeline in page],
        "next": None if last is None else cursor_at(last),
        "revision": moment.facts.revision,
    }


@router.get("/runs/{run}", response_model=Run, **document_actions("{type}.see_runs"))
def get_run(run: Called, organization: CurrentOrganization, moment: CurrentEvaluation) -> dict[str, Any]:
    """Show a run's state, progress and figures, and how its log begins."""
    row, pipeline = visible_run(organization, moment, run)
    said = organization.store.log_lines(row.run) if may_read(moment, pipeline) else ()
    return {
        **_line(organization, moment, row, pipeline),
        **VisibleFigures(moment).of(pipeline, row.figures),
        "log": [_format_log_line(each) for each in said],
        "revision": moment.facts.revision,
    }


@router.get("/runs/{run}/log", response_model=RunLogPage, **document_actions("{type}.see_logs"))
def get_run_log(
    run: Called,
    organization: CurrentOrganization,
    moment: CurrentEvaluation,
    after: Annotated[int, Query(ge=0, le=2**31 - 1, description="only what was said after this line")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="so many lines at most")] = 1000,
) -> dict[str, Any]:
    """Show a part of a run's log."""
    row, pipeline = visible_run(organization, moment, run)
    if not may_read(moment, pipeline):
        organization.control.require(Question(moment.caller, f"{pipeline.type}.{_LOGS}", pipeline.id))
    said = organization.store.log_lines(row.run, after, limit)
    items = [_format_log_line(each) for each in said]
    # The state was read before the lines: whoever has heard the last word of an ended run has heard all.
    over = row.ended is not None and len(said) < limit
    return {"items": items, "next": said[-1].number if said else after, "ended": over}


@router.post("/runs/{run}/cancel", **DONE, **document_actions("{type}.cancel", "{type}.trigger"))
def cancel_run(
    run: Called, organization: CurrentOrganization, moment: CurrentEvaluation, write: Writes
) -> dict[str, Any]:
    """End a run before its time, or take it from the queue."""
    for _ in range(_TRIES):
        row, _pipeline = visible_run(organization, moment, run)
        try:
            return write.execute(CancelRun(row), id=run)
        except RunConflictError:  # it has just begun or ended
            continue
    raise ProblemError(409, "changed", f"the run `{run}` does not stand still; try again")


def visible_run(organization: Organization, moment: Evaluation, run: str) -> tuple[RunRow, Resource]:
    """Return a run that the caller may see, with its pipeline. Raises the same `NotFoundError` for any other."""
    row = organization.store.run(RunId(run))
    pipeline = moment.facts.resources.get(row.pipeline) if row else None
    if row is None or pipeline is None or not may_see(moment, pipeline):
        raise NotFoundError(f"there is no run `{run}` that you may see")
    return row, pipeline


def runs_for(store: Store, moment: Evaluation, wanted: RunFilter) -> Iterator[tuple[RunRow, Resource]]:
    """Yield the runs that are wanted and that the caller may see, newest first, each with its pipeline."""
    seen = dict[ResourceId, Resource | None]()
    while rows := store.runs(wanted, _AT_A_TIME):
        for row in rows:
            if row.pipeline not in seen:
                found = moment.facts.resources.get(row.pipeline)
                seen[row.pipeline] = found if found is not None and may_see(moment, found) else None
            pipeline = seen[row.pipeline]
            if pipeline is not None:
                yield row, pipeline
        wanted = replace(wanted, before=(rows[-1].queued, rows[-1].run))


def may_see(moment: Evaluation, pipeline: Resource) -> bool:
    """Say whether the caller may see the runs of a pipeline."""
    known = next((each for each in _SEEING if find_known_action(moment, pipeline, each)), None)
    return known is not None and _may(moment, pipeline, known)


def find_known_action(moment: Evaluation, found: Resource, verb: str) -> str | None:
    """Return the action of this verb on a resource, if the access model there knows it."""
    action = f"{found.type}.{verb}"
    model = model_for(moment.answers.models, moment.facts, found.type, found.id)
    return action if model is not None and model_has_action(model, action) else None


def _line(organization: Organization, moment: Evaluation, row: RunRow, pipeline: Resource) -> dict[str, Any]:
    name = display_name_for(organization, moment)
    return {
        "run": row.run,
        "pipeline": pipeline.id,
        "name": full_name(moment.facts, pipeline.id),
        "state": row.state,
        "trigger": row.trigger,
        "by": None if row.actor is None else name(row.actor),
        "queued": row.queued,
        "due": row.due,
        "started": row.started,
        "ended": row.ended,
        "attempts": row.attempt,
        "cluster": row.cluster,
        "why": row.why if row.why and may_read(moment, pipeline) else None,
        "since": row.since,
        "until": row.until,
    }


def _format_log_line(line: RunLogLine) -> dict[str, Any]:
    return {"number": line.number, "at": line.at, "line": line.text}


def may_read(moment: Evaluation, pipeline: Resource) -> bool:
    """Say whether the caller may read what the runs of a pipeline have said."""
    return find_known_action(moment, pipeline, _LOGS) is None or _may(moment, pipeline, _LOGS)


def _may(moment: Evaluation, pipeline: Resource, verb: str) -> bool:
    question = Question(moment.caller, f"{pipeline.type}.{verb}", pipeline.id)
    return moment.answers.check(question, moment.now).allowed


def cursor_at(row: RunRow) -> str:
    """Return the cursor of what comes after a run."""
    return base64.urlsafe_b64encode(json.dumps([row.queued, row.run]).encode()).decode()


def read_cursor(cursor: str) -> tuple[float, RunId]:
    """Return when the last run before was queued, and which it was. Raises `ProblemError`."""
    try:
        queued, run = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        last = float(queued), RunId(str(run))
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise _NO_CURSOR from None
    if not math.isfinite(last[0]) or not last[1].isprintable():  # nothing is stored under such an id
        raise _NO_CURSOR
    return last
