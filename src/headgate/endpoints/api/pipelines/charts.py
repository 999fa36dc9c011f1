"""Rows and charts of visualizations and saved queries."""

from typing import Any

import anyio.to_thread
from fastapi import Response
from pydantic import BaseModel

from headgate.control.kernel.errors import InvalidError, NotFoundError
from headgate.control.organizations.organization import Organization
from headgate.decision.types import Question
from headgate.endpoints.api.pipelines.select_checks import rows_for
from headgate.endpoints.api.resources.resources import find_readable
from headgate.endpoints.common.context import AppState, CurrentApp, CurrentOrganization, Presents, require_spark
from headgate.endpoints.common.evaluation_time import CurrentEvaluation, Evaluation
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.problems import ProblemError
from headgate.endpoints.common.route_metadata import document_actions
from headgate.endpoints.common.schemas import Called
from headgate.facts.snapshot import Resource
from headgate.pipelines.definitions.chart import ChartError, ChartRows, require_writable_title, specify_chart
from headgate.pipelines.definitions.chart_renderer import ChartsBusyError, render_chart
from headgate.pipelines.definitions.definition import PipelineDefinition
from headgate.pipelines.kinds import parse_definition
from headgate.pipelines.kinds.saved_query import SavedQueryDefinition
from headgate.pipelines.kinds.visualization import VisualizationDefinition
from headgate.pipelines.writing.cached_rows import load_rows
from headgate.spark.authority import PresentedCredential

router = ApiRouter(tags=["pipelines"])

SVG = "image/svg+xml"
_ALONE = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
    "x-content-type-options": "nosniff",
}
"""Headers that keep a chart from loading or running anything, also if a browser opens it as a page of its own."""

_Showing = VisualizationDefinition | SavedQueryDefinition

_NEEDS = document_actions("{type}.describe", "organization.execute_query", "table.select")
_DRAWN = {**_NEEDS, "responses": {**_NEEDS["responses"], 200: {"content": {SVG: {}}, "description": "The chart."}}}


class PipelineRows(BaseModel):
    """The first rows of a SELECT. `columns` are names and Spark types; `cut`: the result has more rows.

    `at` is the time of the rows (seconds since the epoch); the rows of a visualization are those of its last run, `run`.
    """

    columns: list[tuple[str, str]]
    rows: list[list[Any]]
    cut: bool
    run: str | None
    at: float


@router.get("/pipelines/{pipeline}/rows", response_model=PipelineRows, **_NEEDS)
def get_pipeline_rows(
    pipeline: Called,
    deployed: CurrentApp,
    organization: CurrentOrganization,
    moment: CurrentEvaluation,
    credential: Presents,
) -> dict[str, Any]:
    """Get the rows of a visualization's last run, or run a saved query now with the caller's privileges and get its rows."""
    return _rows(deployed, organization, moment, *_require_showing(organization, moment, pipeline), credential)


@router.get("/pipelines/{pipeline}/chart.svg", response_class=Response, **_DRAWN)
async def get_pipeline_chart(
    pipeline: Called,
    deployed: CurrentApp,
    organization: CurrentOrganization,
    moment: CurrentEvaluation,
    credential: Presents,
) -> Response:
    """Get a chart (SVG) of the rows of a visualization or saved query."""
    specification = await anyio.to_thread.run_sync(_specification, deployed, organization, moment, pipeline, credential)
    # No thread waits for the rendering process: all requests share few threads.
    try:
        picture = await render_chart(deployed.charts, organization.id, specification)
    except ChartError as error:
        raise ProblemError(409, "no-chart", str(error)) from None
    except ChartsBusyError as error:
        raise ProblemError(503, "busy", str(error)) from None
    return Response(picture, media_type=SVG, headers=_ALONE)


def require_chart(definition: PipelineDefinition) -> None:
    """Raise `InvalidError` for a definition whose chart has a title that cannot be drawn."""
    if isinstance(definition, _Showing) and definition.chart is not None:
        try:
            require_writable_title(definition.chart)
        except ChartError as error:
            raise InvalidError(str(error)) from None


def _specification(
    deployed: AppState, organization: Organization, moment: Evaluation, pipeline: str, credential: PresentedCredential
) -> bytes:
    found, definition = _require_showing(organization, moment, pipeline)
    if definition.chart is None:
        raise ProblemError(
            409, "no-chart", f"`{pipeline}` defines no chart; add a `chart` to its definition, or get its rows"
        )
    rows = _rows(deployed, organization, moment, found, definition, credential)
    try:
        return specify_chart(definition.chart, ChartRows(columns=rows["columns"], rows=rows["rows"]))
    except ChartError as error:
        raise ProblemError(409, "no-chart", str(error)) from None


def _require_showing(organization: Organization, moment: Evaluation, name: str) -> tuple[Resource, _Showing]:
    found = find_readable(organization, moment, name)
    document = organization.store.document("pipeline", found.id)
    definition = parse_definition(document) if document is not None else None
    if not isinstance(definition, _Showing):
        raise ProblemError(409, "no-rows", f"`{name}` has no rows; name a visualization or a saved query")
    return found, definition


def _rows(
    deployed: AppState,
    organization: Organization,
    moment: Evaluation,
    found: Resource,
    definition: _Showing,
    credential: PresentedCredential,
) -> dict[str, Any]:
    if isinstance(definition, SavedQueryDefinition):
        return _query_rows(deployed, organization, moment, found, definition, credential)
    return _load_kept_rows(organization, moment, found)


def _load_kept_rows(organization: Organization, moment: Evaluation, found: Resource) -> dict[str, Any]:
    kept = load_rows(organization.store, found.id)
    # The stored rows may come from tables that the definition no longer reads: if the caller may not read one of them, the
    # answer is the same as without rows.
    if kept is None or not kept.is_visible_to(organization.control, moment.caller):
        raise NotFoundError(
            f"no run of `{found.name}` that you may see has stored rows; run the pipeline if you may read its tables, then retry"
        )
    return {**kept.rows.model_dump(), "run": kept.run, "at": kept.at}


def _query_rows(
    deployed: AppState,
    organization: Organization,
    moment: Evaluation,
    found: Resource,
    definition: SavedQueryDefinition,
    credential: PresentedCredential,
) -> dict[str, Any]:
    require_spark(deployed, organization)
    root = moment.facts.organization
    if root is not None:
        reads = tuple(edge.target for edge in found.edges("inputs"))
        organization.control.require(Question(moment.caller, "organization.execute_query", root, {"reads": reads}))
    return {
        **rows_for(deployed.statements, credential, moment.caller, definition).model_dump(),
        "run": None,
        "at": moment.now,
    }
