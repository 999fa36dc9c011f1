"""Runs of pipelines: their state, progress and log, and cancellation. `triggers` starts them."""

import base64
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel

from headgate.control.kernel.ports import RunConflictError, Store
from headgate.control.kernel.run_queue import RunFilter, RunLogLine, RunRow
from headgate.control.organizations.organization import Organization
from headgate.control.pipelines.runs import CancelRun, missing_run
from headgate.decision.context import model_for
from headgate.decision.types import Question
from headgate.endpoints.api.pipelines.figures import VisibleFigures
from headgate.endpoints.common.context import CurrentOrganization
from headgate.endpoints.common.evaluation_time import CurrentEvaluation, Evaluation
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.lookup import Text, full_name
from headgate.endpoints.common.paging import MAX_PAGE
from headgate.endpoints.common.problems import ProblemError
from headgate.endpoints.common.route_metadata import document_actions
from headgate.endpoints.common.schemas import Called, Time, page_model
from headgate.endpoints.common.subject_lookup import display_name_for
from headgate.endpoints.common.writes import DONE, Writes
from headgate.facts.ids import ResourceId, RunId
from headgate.facts.snapshot import Resource

router = ApiRouter(tags=["pipelines"])

_SEEING = ("see_runs", "describe")
_LOGS = "see_logs"
_AT_A_TIME = 200
_TRIES = 5

_NO_CURSOR = ProblemError(
    422,
    "invalid",
    "`cursor` is not valid; send the `next` of the previous page, or leave `cursor` out for the first page",
)

State = Literal["queued", "running", "succeeded", "failed", "cancelled", "refused"]


class RunSummary(BaseModel):
    """A run of a pipeline: its state, its trigger, and its times (seconds since the epoch).

    `why` is the reason why it waits, failed or was refused; null for a caller that may not read its log. `attempts` is the
    number of attempts that were started.
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
    """A line of a run's log, with the time at which it was written (seconds since the epoch)."""

    number: int
    at: float
    line: str


class Run(RunSummary):
    """A run with Spark's progress, its metrics, and the first lines of its log if the caller may read the log.

    Row counts are only for callers that may read the tables, or that may view the metrics of a table service.
    """

    progress: dict[str, float]
    metrics: dict[str, float]
    log: list[RunLogEntry]
    revision: int


class RunLogPage(BaseModel):
    """A page of a run's log. `next` is the `after` of the next page; `ended`: no more lines follow."""

    items: list[RunLogEntry]
    next: int
    ended: bool


@router.get("/runs", response_model=page_model(RunSummary), **document_actions("{type}.see_runs"))
def list_runs(
    organization: CurrentOrganization,
    moment: CurrentEvaluation,
    pipeline: Annotated[Called | None, Query()] = None,
    state: Annotated[State | None, Query()] = None,
    since: Annotated[Time | None, Query(description="only runs queued at this time or later")] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE, description="maximum number of runs")] = 50,
    cursor: Annotated[Text | None, Query(max_length=2000, description="the `next` of the previous page")] = None,
) -> dict[str, Any]:
    """List the runs that the caller may see, of one or of all pipelines, newest first."""
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
    """Get a run, with its progress, its metrics and the first lines of its log."""
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
    after: Annotated[int, Query(ge=0, le=2**31 - 1, description="only lines after this line number")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="maximum number of lines")] = 1000,
) -> dict[str, Any]:
    """Get a page of a run's log."""
    row, pipeline = visible_run(organization, moment, run)
    if not may_read(moment, pipeline):
        organization.control.require(Question(moment.caller, f"{pipeline.type}.{_LOGS}", pipeline.id))
    said = organization.store.log_lines(row.run, after, limit)
    items = [_format_log_line(each) for each in said]
    # The state was read before the lines: if the run had ended by then, these lines are complete.
    over = row.ended is not None and len(said) < limit
    return {"items": items, "next": said[-1].number if said else after, "ended": over}


@router.post("/runs/{run}/cancel", **DONE, **document_actions("{type}.cancel", "{type}.trigger"))
def cancel_run(
    run: Called, organization: CurrentOrganization, moment: CurrentEvaluation, write: Writes
) -> dict[str, Any]:
    """Cancel a run: stop it, or remove it from the queue."""
    for _ in range(_TRIES):
        row, _pipeline = visible_run(organization, moment, run)
        try:
            return write.execute(CancelRun(row), id=run)
        except RunConflictError:  # its state has just changed
            continue
    raise ProblemError(
        409,
        "changed",
        f"the run `{run}` changed while the request was processed, and was not cancelled; retry the request",
    )


def visible_run(organization: Organization, moment: Evaluation, run: str) -> tuple[RunRow, Resource]:
    """Return a run with its pipeline. A missing run and a run that the caller may not see raise the same `NotFoundError`."""
    row = organization.store.run(RunId(run))
    pipeline = moment.facts.resources.get(row.pipeline) if row else None
    if row is None or pipeline is None or not may_see(moment, pipeline):
        raise missing_run(run)
    return row, pipeline


def runs_for(store: Store, moment: Evaluation, wanted: RunFilter) -> Iterator[tuple[RunRow, Resource]]:
    """Yield the runs that match the filter and that the caller may see, newest first, each with its pipeline."""
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
    """Return whether the caller may see the runs of a pipeline."""
    known = next((each for each in _SEEING if find_known_action(moment, pipeline, each)), None)
    return known is not None and _may(moment, pipeline, known)


def find_known_action(moment: Evaluation, found: Resource, verb: str) -> str | None:
    """Return the action of this verb on a resource, or None if the governing access model does not have it."""
    action = f"{found.type}.{verb}"
    model = model_for(moment.answers.models, moment.facts, found.type, found.id)
    return action if model is not None and model.has_action(action) else None


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
    """Return whether the caller may read the logs of a pipeline's runs."""
    return find_known_action(moment, pipeline, _LOGS) is None or _may(moment, pipeline, _LOGS)


def _may(moment: Evaluation, pipeline: Resource, verb: str) -> bool:
    question = Question(moment.caller, f"{pipeline.type}.{verb}", pipeline.id)
    return moment.answers.check(question, moment.now).allowed


def cursor_at(row: RunRow) -> str:
    """Return the cursor for the runs after a run."""
    return base64.urlsafe_b64encode(json.dumps([row.queued, row.run]).encode()).decode()


def read_cursor(cursor: str) -> tuple[float, RunId]:
    """Return the queue time and the id of the last run of the previous page. Raises `ProblemError` for an invalid cursor."""
    try:
        queued, run = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        last = float(queued), RunId(str(run))
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise _NO_CURSOR from None
    if not math.isfinite(last[0]) or not last[1].isprintable():  # no run has such an id
        raise _NO_CURSOR
    return last
