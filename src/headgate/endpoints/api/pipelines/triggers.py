"""What begins runs: somebody who asks for one, for a range, or for one again."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, timedelta
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter
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
from headgate.endpoints.common.lookup import Text, find_resource
from headgate.endpoints.common.problems import ProblemError
from headgate.endpoints.common.route_metadata import document_actions
from headgate.endpoints.common.schemas import Called, StrictSchema
from headgate.endpoints.common.writes import DONE, Writes
from headgate.facts.ids import ResourceId, RunId
from headgate.pipelines.kinds import kind_of, parse_definition

router = APIRouter(tags=["pipelines"])

_MOST = 1000
"""So many runs of one backfill at most."""

MOST_QUEUED = 10_000
"""So many runs of one pipeline are queued at most: the workers read the queue in every round."""

_NEXT = 0.001
"""So many seconds later each of them is due, so that they begin in their order."""

_FITTING = "with a `step`, `since` and `until` are both whole numbers, both dates or both times"

Value = Annotated[int | Annotated[Text, Field(max_length=200)], Field(description="a value of the cursor")]


class BackfillCreate(StrictSchema):
    """The rows from `since` to before `until`; without one of them, the range is open there.

    With a `step`, each part is a run of its own: a number for numbers, a duration as in `P1D` for dates and times.
    """

    since: Value | None = None
    until: Value | None = None
    step: Annotated[int, Field(gt=0)] | timedelta | None = None

    def ranges(self) -> list[tuple[str | None, str | None]]:
        """Return the range of each run. Raises `InvalidError` for one that there is not."""
        if self.since is None and self.until is None:
            raise InvalidError("a range begins or ends somewhere; say `since`, `until` or both")
        if self.step is None:
            return [(_text(self.since), _text(self.until))]
        try:
            found = list(islice(_parts(_read(self.since), _read(self.until), self.step), _MOST + 1))
        except (TypeError, OverflowError):
            raise InvalidError(_FITTING) from None
        if not 0 < len(found) <= _MOST:
            raise InvalidError(f"a backfill is 1 to {_MOST} runs; choose another range or `step`")
        return [(_text(since), _text(until)) for since, until in found]


@router.post("/pipelines/{pipeline}/runs", status_code=202, **DONE, **document_actions("{type}.trigger"))
def trigger_pipeline(
    pipeline: Called, deployed: CurrentApp, organization: CurrentOrganization, caller: CurrentCaller, write: Writes
) -> dict[str, Any]:
    """Have a pipeline run as soon as it may; `/runs/{run}` tells how it goes."""
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
    """Have a pipeline run for a range of its cursor, in one run or one for each step. A dry run lists them."""
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
    """Have a run that has ended carried out again, as a new one for the same range."""
    row, _ = visible_run(organization, moment, run)
    if row.state not in ENDED_STATES:
        raise ProblemError(409, "under-way", f"the run `{run}` is {row.state}; it can be cancelled, or waited for")
    again = RunId(new_id("run"))
    why = "manual" if (row.since, row.until) == (None, None) else "backfill"
    decided = write.decide(QueueRun(again, row.pipeline, why, None, row.since, row.until), id=again, run=again)
    _require_room(deployed, organization, row.pipeline)
    answer = decided.finish()
    deployed.runner.wake()
    return answer


def _read(value: int | str | None) -> Any:
    """Return the number, date or time that a text is."""
    if not isinstance(value, str):
        return value
    for kind in (int, date.fromisoformat, datetime.fromisoformat):
        with suppress(ValueError):
            return kind(value)
    raise InvalidError(_FITTING)


def _parts(since: Any, until: Any, step: Any) -> Iterator[tuple[Any, Any]]:
    while since < until:
        end = min(since + step, until)
        if end <= since:  # less than a day from a date, or backwards
            raise InvalidError("a `step` goes forward, from dates by whole days")
        yield since, end
        since = end


def _text(value: object) -> str | None:
    return value.isoformat() if isinstance(value, date) else None if value is None else str(value)


def _require_ranges(organization: Organization, pipeline: ResourceId) -> None:
    """Raise `InvalidError` for a pipeline whose runs are never about a part of the past."""
    document = organization.store.document("pipeline", pipeline)
    definition = parse_definition(document) if document is not None else None
    whole = kind_of(definition).whole(definition) if definition is not None else None
    if whole is not None:
        raise InvalidError(whole)


def _require_room(deployed: AppState, organization: Organization, pipeline: ResourceId, more: int = 1) -> None:
    """Raise `ProblemError` unless the organization has Spark here and the pipeline may have so many more queued runs."""
    if not deployed.has_spark(organization):
        raise ProblemError(409, "not-served", "this organization has no Spark here, on which its pipelines could run")
    queued = organization.store.count_runs(RunFilter(pipeline, states=(QUEUED,)))
    if queued + more > MOST_QUEUED:
        detail = (
            f"the pipeline has {queued:,} queued runs, and at most {MOST_QUEUED:,} may be queued; "
            "wait until some have ended, or cancel some"
        )
        raise ProblemError(409, "queue-full", detail)
