"""Triggers of runs: a caller starts a run, a backfill for a range, or a retry."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, timedelta
from itertools import islice
from typing import Annotated, Any

from pydantic import Field

from headgate.control.kernel.batch import Batch
from headgate.control.kernel.errors import InvalidError
from headgate.control.kernel.ids import new_id
from headgate.control.kernel.run_queue import ENDED_STATES, QUEUED, RunFilter
from headgate.control.organizations.organization import Organization
from headgate.control.pipelines.runs import QueueRun
from headgate.endpoints.api.pipelines.runs import visible_run
from headgate.endpoints.common.context import AppState, CurrentApp, CurrentCaller, CurrentOrganization
from headgate.endpoints.common.evaluation_time import CurrentEvaluation
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.lookup import Text, find_resource
from headgate.endpoints.common.problems import ProblemError
from headgate.endpoints.common.route_metadata import document_actions
from headgate.endpoints.common.schemas import Called, StrictSchema
from headgate.endpoints.common.writes import DONE, Writes
from headgate.facts.ids import ResourceId, RunId
from headgate.pipelines.kinds import kind_of, parse_definition

router = ApiRouter(tags=["pipelines"])

_MOST = 1000
"""The maximum number of runs of one backfill."""

MOST_QUEUED = 10_000
"""The maximum number of queued runs of one pipeline. It is bounded because the workers read the queue in every round."""

_NEXT = 0.001
"""Seconds between the due times of the runs of a backfill, so that they start in order."""

_FITTING = (
    "`since`, `until` and `step` do not fit together; give two integers and an integer `step`, or two dates or two times "
    "and a duration"
)
_UNREADABLE = "`since` or `until` is not an integer, a date or a time; give one of these, or leave out `step`"
_NO_END = "a backfill with a `step` needs both `since` and `until`; add the missing one"

Value = Annotated[int | Annotated[Text, Field(max_length=200)], Field(description="a value of the cursor")]


class BackfillCreate(StrictSchema):
    """A range of cursor values: from `since` (inclusive) to `until` (exclusive). Without one of them, that end is open.

    With a `step`, every part of the range is loaded by a run of its own. The step is an integer for integers, and a
    duration such as `P1D` for dates and times.
    """

    since: Value | None = None
    until: Value | None = None
    step: Annotated[int, Field(gt=0)] | timedelta | None = None

    def ranges(self) -> list[tuple[str | None, str | None]]:
        """Return the range of each run. Raises `InvalidError` for an open range with a `step`, and for an invalid range."""
        if self.since is None and self.until is None:
            raise InvalidError("the backfill has no range; give `since`, `until` or both")
        if self.step is None:
            return [(_text(self.since), _text(self.until))]
        if self.since is None or self.until is None:
            raise InvalidError(_NO_END)
        try:
            found = list(islice(_parts(_read(self.since), _read(self.until), self.step), _MOST + 1))
        except (TypeError, OverflowError):
            raise InvalidError(_FITTING) from None
        if not found:
            raise InvalidError("the range of the backfill is empty; give a `since` that is before `until`")
        if len(found) > _MOST:
            raise InvalidError(f"the backfill has more than {_MOST} runs; choose a smaller range or a larger `step`")
        return [(_text(since), _text(until)) for since, until in found]


@router.post("/pipelines/{pipeline}/runs", status_code=202, **DONE, **document_actions("{type}.trigger"))
def trigger_pipeline(
    pipeline: Called, deployed: CurrentApp, organization: CurrentOrganization, caller: CurrentCaller, write: Writes
) -> dict[str, Any]:
    """Start a run of a pipeline: queue it to run as soon as possible. `GET /api/v1/runs/{run}` returns its state."""
    run = RunId(new_id("run"))
    target = find_resource(organization, caller, pipeline)
    decided = write.decide(QueueRun(run, target), id=run, run=run)
    _require_room(deployed, organization, target)
    answer = decided.finish()
    deployed.runner.wake()
    return answer


@router.post("/pipelines/{pipeline}/backfill", status_code=202, **DONE, **document_actions("{type}.trigger"))
def backfill_pipeline(
    pipeline: Called,
    body: BackfillCreate,
    deployed: CurrentApp,
    organization: CurrentOrganization,
    caller: CurrentCaller,
    write: Writes,
) -> dict[str, Any]:
    """Start a backfill of a pipeline for a range of its cursor, in one run or one run per step. A dry run lists the ranges."""
    id, ranges, now = find_resource(organization, caller, pipeline), body.ranges(), organization.control.now
    runs = [RunId(new_id("run")) for _ in ranges]
    commands = tuple(
        QueueRun(run, id, "backfill", now + number * _NEXT, since, until)
        for number, (run, (since, until)) in enumerate(zip(runs, ranges, strict=True))
    )
    parts = [{"since": since, "until": until} for since, until in ranges]

    decided = write.decide(Batch(commands, "run.backfill"), runs=runs, ranges=parts)
    _require_room(deployed, organization, id, len(runs))
    _require_ranges(organization, id)
    answer = decided.finish()
    deployed.runner.wake()
    return {**answer, "ranges": parts}


@router.post("/runs/{run}/retry", status_code=202, **DONE, **document_actions("{type}.trigger"))
def retry_run(
    run: Called, deployed: CurrentApp, organization: CurrentOrganization, moment: CurrentEvaluation, write: Writes
) -> dict[str, Any]:
    """Retry a finished run: queue a new run for the same range."""
    row, _ = visible_run(organization, moment, run)
    if row.state not in ENDED_STATES:
        raise ProblemError(
            409, "under-way", f"the run `{run}` is {row.state}; cancel it or wait until it ends, then retry it"
        )
    again = RunId(new_id("run"))
    why = "manual" if (row.since, row.until) == (None, None) else "backfill"
    decided = write.decide(QueueRun(again, row.pipeline, why, None, row.since, row.until), id=again, run=again)
    _require_room(deployed, organization, row.pipeline)
    answer = decided.finish()
    deployed.runner.wake()
    return answer


def _read(value: int | str | None) -> Any:
    """Return the integer, date or time in a text. Raises `InvalidError` for another text."""
    if not isinstance(value, str):
        return value
    for kind in (int, date.fromisoformat, datetime.fromisoformat):
        with suppress(ValueError):
            return kind(value)
    raise InvalidError(_UNREADABLE)


def _parts(since: Any, until: Any, step: Any) -> Iterator[tuple[Any, Any]]:
    while since < until:
        end = min(since + step, until)
        if end <= since:  # a step of less than a day from a date, or not a positive one
            raise InvalidError(
                "`step` is not positive, or not of whole days for a range of dates; give a positive "
                "duration, of whole days for dates"
            )
        yield since, end
        since = end


def _text(value: object) -> str | None:
    return value.isoformat() if isinstance(value, date) else None if value is None else str(value)


def _require_ranges(organization: Organization, pipeline: ResourceId) -> None:
    """Raise `InvalidError` for a pipeline that does not support backfills of a range."""
    document = organization.store.document("pipeline", pipeline)
    definition = parse_definition(document) if document is not None else None
    whole = kind_of(definition).whole(definition) if definition is not None else None
    if whole is not None:
        raise InvalidError(whole)


def _require_room(deployed: AppState, organization: Organization, pipeline: ResourceId, more: int = 1) -> None:
    """Raise `ProblemError` unless the organization has Spark on this server, and the queue has room for `more` runs."""
    if not deployed.has_spark(organization):
        raise ProblemError(
            409,
            "not-served",
            "the organization has no Spark on this server, so its pipelines cannot run; "
            "ask the operator to add its id to `HEADGATE_SPARK_ORGANIZATIONS`",
        )
    queued = organization.store.count_runs(RunFilter(pipeline, states=(QUEUED,)))
    if queued + more > MOST_QUEUED:
        detail = (
            f"the pipeline has {queued:,} queued runs, and at most {MOST_QUEUED:,} may be queued; "
            "wait until some of them have finished, or cancel some"
        )
        raise ProblemError(409, "queue-full", detail)
