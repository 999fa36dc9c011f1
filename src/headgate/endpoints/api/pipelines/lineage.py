"""Lineage: the reads and writes of runs as OpenLineage events, and the upstream and downstream tables of a table."""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from typing import Annotated, Any

from fastapi import Query, Request
from pydantic import BaseModel

from headgate.control.kernel.run_queue import RunFilter, RunRow
from headgate.control.organizations.organization import Organization
from headgate.endpoints.api.pipelines.figures import VisibleFigures
from headgate.endpoints.api.pipelines.runs import cursor_at, may_read, may_see, read_cursor, runs_for
from headgate.endpoints.common.context import CurrentOrganization
from headgate.endpoints.common.evaluation_time import CurrentEvaluation, Evaluation
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.lookup import Text
from headgate.endpoints.common.ndjson import accepts_ndjson_docs, ndjson_response, wants_ndjson
from headgate.endpoints.common.paging import MAX_PAGE
from headgate.endpoints.common.route_metadata import DISCOVER, document_actions
from headgate.endpoints.common.schemas import Called
from headgate.facts.ids import ResourceId, RunId
from headgate.facts.snapshot import Resource
from headgate.pipelines.lineage.graph import Step, list_steps, walk
from headgate.pipelines.lineage.recorder import LATEST, trace_from_document, trace_of

router = ApiRouter(tags=["lineage"])


class LineageEventPage(BaseModel):
    """A page of OpenLineage run events, the newest runs first; `next` is null at the end."""

    items: list[dict[str, Any]]
    next: str | None
    revision: int


class LineageStep(BaseModel):
    """One step of the lineage: a run wrote `target` from `source`.

    `columns` maps columns of the target to the columns of the source that they were derived from. `distance` is 1 for a step
    that begins or ends at the requested table, 2 for the next step, and so on.
    """

    source: str
    target: str
    pipeline: str
    run: str
    distance: int
    columns: dict[str, list[str]]


class Lineage(BaseModel):
    """The upstream and downstream steps of a table, by the newest successful runs that the caller may see."""

    of: str
    upstream: list[LineageStep]
    downstream: list[LineageStep]
    revision: int


@router.get("/lineage", response_model=Lineage, **document_actions(DISCOVER, "{type}.see_runs"))
def get_lineage(
    organization: CurrentOrganization,
    moment: CurrentEvaluation,
    of: Annotated[Called, Query(description="a table, or a connection")],
) -> dict[str, Any]:
    """Get the upstream and downstream lineage of a table, through all pipelines and tables that the caller may see."""
    found, known = moment.resource(of), list(_steps(organization, moment))
    return {
        "of": moment.name(found.id),
        "upstream": [_step(moment, *each) for each in walk(found.id, known, up=True)],
        "downstream": [_step(moment, *each) for each in walk(found.id, known, up=False)],
        "revision": moment.facts.revision,
    }


@router.get("/lineage/events", response_model=LineageEventPage, **accepts_ndjson_docs("{type}.see_runs"))
def list_lineage_events(
    request: Request,
    organization: CurrentOrganization,
    moment: CurrentEvaluation,
    pipeline: Annotated[Called | None, Query(description="only events of this pipeline")] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE, description="maximum number of runs")] = 50,
    cursor: Annotated[Text | None, Query(max_length=2000, description="the `next` of the previous page")] = None,
) -> Any:
    """List the runs that the caller may see as OpenLineage events, newest runs first.

    With `Accept: application/x-ndjson`, the response has all of them, one event per line.
    """
    wanted = RunFilter(
        pipeline=moment.resource(pipeline).id if pipeline is not None else None,
        before=None if cursor is None else read_cursor(cursor),
    )
    found = runs_for(organization.store, moment, wanted)
    told = _build_event_source(organization, moment)
    if wants_ndjson(request):
        return ndjson_response(event for each in found for event in told(*each))
    page = list(islice(found, limit + 1))
    last = page[limit - 1][0] if len(page) > limit else None
    return {
        "items": [event for each in page[:limit] for event in told(*each)],
        "next": None if last is None else cursor_at(last),
        "revision": moment.facts.revision,
    }


def _build_event_source(
    organization: Organization, moment: Evaluation
) -> Callable[[RunRow, Resource], Iterator[dict[str, Any]]]:
    # Imported late: the library loads slowly, and only this route needs it.
    from headgate.pipelines.lineage.events import EventBuilder  # noqa: PLC0415 (loaded late)

    sees, figures = cache(moment.sees), VisibleFigures(moment)

    def told(row: RunRow, pipeline: Resource) -> Iterator[dict[str, Any]]:
        teller = EventBuilder(moment.facts, sees, counts=figures.reads, says_why=may_read(moment, pipeline))
        return teller.build_all(row, lambda: trace_of(organization, row))

    return told


def _steps(organization: Organization, moment: Evaluation) -> Iterator[Step]:
    """Yield the steps whose pipeline and both ends the caller may see."""
    sees = cache(moment.sees)
    for id, document in organization.store.documents(LATEST).items():
        pipeline = moment.facts.resources.get(ResourceId(id))
        if pipeline is not None and may_see(moment, pipeline):
            found = list_steps(pipeline.id, RunId(str(document["run"])), trace_from_document(document))
            yield from (each for each in found if sees(each.source) and sees(each.target))


def _step(moment: Evaluation, distance: int, step: Step) -> dict[str, Any]:
    return {
        "source": moment.name(step.source),
        "target": moment.name(step.target),
        "pipeline": moment.name(step.pipeline),
        "run": step.run,
        "distance": distance,
        "columns": {name: list(of) for name, of in step.columns.items()},
    }
