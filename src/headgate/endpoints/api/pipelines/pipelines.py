"""Pipelines: their definitions, streams and states. For runs, see `triggers` and `runs`."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any

from fastapi import Body, Query, Response
from pydantic import BaseModel

from headgate.control.kernel.command import require_new_name
from headgate.control.kernel.errors import InvalidError, NotFoundError
from headgate.control.kernel.ids import new_id
from headgate.control.kernel.ports import RunConflictError
from headgate.control.kernel.run_queue import QUEUED, RUNNING, RunFilter
from headgate.control.kernel.vocabulary import shipped_vocabulary
from headgate.control.organizations.organization import Organization
from headgate.control.pipelines.commands import DeletePipeline, SavePipeline
from headgate.control.pipelines.states import STATES, ChangeState, MoveToCluster
from headgate.control.pipelines.streams import AddStream, SwitchStream
from headgate.control.resources.attributes import STATE
from headgate.control.resources.versions import resource_version
from headgate.endpoints.api.pipelines.charts import require_chart
from headgate.endpoints.api.pipelines.egress_checks import require_egress
from headgate.endpoints.api.pipelines.schedule_checks import require_acyclic_schedule
from headgate.endpoints.api.pipelines.select_checks import require_inputs
from headgate.endpoints.api.resources.resources import find_readable
from headgate.endpoints.common.cluster_checks import require_cluster
from headgate.endpoints.common.context import AppState, CurrentApp, CurrentCaller, CurrentOrganization, Presents
from headgate.endpoints.common.evaluation_time import CurrentEvaluation, Evaluation, RequestedEvaluation
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.lookup import default_project, find_resource, resolve_visible
from headgate.endpoints.common.paging import CurrentPaging, page_of_rows
from headgate.endpoints.common.problems import ProblemError
from headgate.endpoints.common.route_metadata import DISCOVER, document_actions
from headgate.endpoints.common.schemas import Called, StrictSchema, page_model
from headgate.endpoints.common.subject_lookup import display_name_for, find_principal
from headgate.endpoints.common.versions import set_etag
from headgate.endpoints.common.writes import DONE, Write, Writes
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId, RunId
from headgate.facts.snapshot import NO_NAMES, Resource
from headgate.pipelines.definitions.declared_io import input_edges, output_edges
from headgate.pipelines.definitions.definition import MAX_ENTRIES, PipelineDefinition, split_name
from headgate.pipelines.kinds import Definition, declared_io, parse_definition
from headgate.pipelines.kinds.source import Streaming
from headgate.pipelines.loading.streams import SourceStream, list_outputs

router = ApiRouter(tags=["pipelines"])

_TRIES = 5

_WITHOUT_DEFINITION = ("notebook", "job")
"""Types of pipelines that have no definition yet: definitions for them will come with their sandbox."""


class PipelineSummary(BaseModel):
    """A pipeline. Its runs use the privileges of `run_as`.

    This is the service principal that its definition names, else the principal that saved its definition last.
    """

    id: str
    kind: str
    name: str
    run_as: str | None
    state: str
    running: bool


class Pipeline(PipelineSummary):
    """A pipeline with its version and its definition, null if it has none."""

    definition: dict[str, Any] | None
    version: str
    revision: int


class ClusterAssignment(StrictSchema):
    """The cluster to run on."""

    cluster: Called


@router.get("/pipelines", response_model=page_model(PipelineSummary), **document_actions(DISCOVER))
def list_pipelines(
    organization: CurrentOrganization,
    moment: RequestedEvaluation,
    pages: CurrentPaging,
    kind: Annotated[Called | None, Query()] = None,
) -> dict[str, Any]:
    """List the pipelines that the caller may see."""
    kinds = tuple(each for each in _pipeline_types() if kind in (None, each))
    found = (each for each in moment.facts.resources.values() if each.type in kinds and moment.sees(each.id))
    return page_of_rows(
        _rows(organization, moment, found), pages, ("name", "kind", "state", "run_as"), moment.facts.revision
    )


@router.put(
    "/pipelines/{pipeline}", **DONE, **document_actions("project.create_{type}", "{type}.edit", "connection.use")
)
def put_pipeline(
    pipeline: Called,
    definition: Annotated[Definition, Body()],
    deployed: CurrentApp,
    organization: CurrentOrganization,
    caller: CurrentCaller,
    write: Writes,
    credential: Presents,
    project_name: Annotated[
        Called | None,
        Query(
            alias="project", description="the parent: a project, a module or a table; the default project if omitted"
        ),
    ] = None,
) -> dict[str, Any]:
    """Create a pipeline, or replace its definition. Its runs then use the privileges of the caller, or of `run_as`."""
    if definition.name != pipeline.rpartition(".")[2]:
        raise InvalidError(
            f"the definition has the name `{definition.name}`, but the path names `{pipeline}`; use one name in both"
        )
    touched = declared_io(definition)
    edges = input_edges(touched, organization.gate, caller)
    place = default_project(organization) if project_name is None else find_resource(organization, caller, project_name)
    # A hidden pipeline counts as missing. A caller that may create pipelines learns that the name is taken; other callers
    # learn nothing about it.
    id = _there(organization, caller, pipeline, None if project_name is None else place) or ResourceId(new_id("pl"))
    service = definition.run_as and find_principal(organization, caller, definition.run_as, "service_principal")
    document = definition.model_dump(mode="json")
    command = SavePipeline(
        id, place, definition.kind, definition.name, edges, document, touched.attributes, service or None
    )

    decided = write.decide(command, of=id, id=id, name=pipeline)
    after = definition.schedule.after if definition.schedule else None
    require_acyclic_schedule(organization, caller, definition.name, place, after)
    require_cluster(deployed.clusters, definition.cluster, edges)
    require_egress(organization, deployed.egress(organization), edges)
    _require_new_stream_names(organization, id, definition)
    require_chart(definition)
    if deployed.has_spark(organization):
        require_inputs(deployed.statements, credential, caller, definition)
    return decided.finish()


@router.get("/pipelines/{pipeline}", response_model=Pipeline, **document_actions("{type}.describe"))
def get_pipeline(
    pipeline: Called, organization: CurrentOrganization, moment: CurrentEvaluation, response: Response
) -> dict[str, Any]:
    """Get a pipeline with its definition."""
    found = find_readable(organization, moment, pipeline)
    if found.type not in _pipeline_types():
        raise NotFoundError(organization.wording.hidden((pipeline,)))
    stated = set_etag(response, organization, moment.facts, found.id)
    (row,) = _rows(organization, moment, [found])
    document = organization.store.document("pipeline", found.id)
    return {**row, "definition": document, "version": stated, "revision": moment.facts.revision}


@router.delete("/pipelines/{pipeline}", **DONE, **document_actions("{type}.delete"))
def delete_pipeline(
    pipeline: Called, organization: CurrentOrganization, caller: CurrentCaller, write: Writes
) -> dict[str, Any]:
    """Delete a pipeline. The tables that it wrote are kept."""
    id = find_resource(organization, caller, pipeline)
    return write.execute(DeletePipeline(id), of=id, id=id)


@router.post(
    "/pipelines/{pipeline}/streams", status_code=201, **DONE, **document_actions("{type}.add_stream", "connection.use")
)
def add_stream(
    pipeline: Called,
    body: SourceStream,
    deployed: CurrentApp,
    organization: CurrentOrganization,
    moment: CurrentEvaluation,
    write: Writes,
) -> dict[str, Any]:
    """Add a stream to a source. The runs of the source then use the caller's privileges."""
    require_new_name(body.name)
    found, definition, write = _require_definition(organization, moment, pipeline, write)
    if len(definition.streams) >= MAX_ENTRIES:
        raise ProblemError(
            422,
            "invalid",
            f"the definition of `{pipeline}` has the maximum of {MAX_ENTRIES:,} streams; add the stream to another pipeline",
        )
    if any(each.name == body.name for each in definition.streams):
        raise ProblemError(409, "taken", f"`{pipeline}` already has a stream `{body.name}`; choose another name")
    taken = {each.table for each in list_outputs(definition.streams)} & {each.table for each in list_outputs((body,))}
    if taken:
        raise ProblemError(
            409, "taken", f"another stream of `{pipeline}` already writes to `{taken.pop()}`; choose another table"
        )
    edges = output_edges(list_outputs((body,)), organization.gate, moment.caller)
    streams = definition.model_copy(update={"streams": (*definition.streams, body)})
    command = AddStream(found.id, edges, streams.model_dump(mode="json"))
    decided = write.decide(command, of=found.id, id=found.id)
    require_egress(organization, deployed.egress(organization), found.relations)
    return decided.finish()


@router.post(
    "/pipelines/{pipeline}/streams/{stream}/enable",
    **DONE,
    **document_actions("{type}.enable_stream", "connection.use"),
)
def enable_stream(
    pipeline: Called,
    stream: Called,
    deployed: CurrentApp,
    organization: CurrentOrganization,
    moment: CurrentEvaluation,
    write: Writes,
) -> dict[str, Any]:
    """Enable a stream of a source. The runs of the source then use the caller's privileges."""
    return _switch(deployed, organization, moment, pipeline, stream, write, enabled=True)


@router.post("/pipelines/{pipeline}/streams/{stream}/disable", **DONE, **document_actions("{type}.disable_stream"))
def disable_stream(
    pipeline: Called,
    stream: Called,
    deployed: CurrentApp,
    organization: CurrentOrganization,
    moment: CurrentEvaluation,
    write: Writes,
) -> dict[str, Any]:
    """Disable a stream of a source: runs do not load it."""
    return _switch(deployed, organization, moment, pipeline, stream, write, enabled=False)


def _build_state_change(verb: str) -> Callable[..., Any]:
    def change_state(
        pipeline: Called, organization: CurrentOrganization, caller: CurrentCaller, write: Writes
    ) -> dict[str, Any]:
        id, run = find_resource(organization, caller, pipeline), RunId(new_id("run"))
        for _ in range(_TRIES):
            rows = tuple(organization.store.runs(RunFilter(id, states=(QUEUED, RUNNING))))
            try:
                return write.execute(ChangeState(id, verb, rows, run), of=id, id=id)
            except RunConflictError:  # the state of a run has just changed
                continue
        raise ProblemError(
            409,
            "changed",
            f"the runs of `{pipeline}` changed while the request was processed; the request had no effect; retry it",
        )

    return change_state


_ALSO = {"clean_and_restart": ("{type}.resume",)}
"""The further actions that a change of state needs, for example because it can start a new run."""

for _verb in STATES:
    router.add_api_route(
        f"/pipelines/{{pipeline}}/{_verb.replace('_', '-')}",
        _build_state_change(_verb),
        methods=["POST"],
        name=f"{_verb}_pipeline",
        summary=f"{_verb.replace('_', ' ').capitalize()} a pipeline",
        **DONE,
        **document_actions(f"{{type}}.{_verb}", *_ALSO.get(_verb, ())),
    )


@router.post(
    "/resources/{resource_name}/move-to-cluster",
    **DONE,
    **document_actions("{type}.move_to_cluster", "{type}.change_services_cluster"),
)
def move_resource_to_cluster(
    resource_name: Called,
    body: ClusterAssignment,
    organization: CurrentOrganization,
    caller: CurrentCaller,
    write: Writes,
) -> dict[str, Any]:
    """Move a pipeline, or the services of a table, to another cluster."""
    id = find_resource(organization, caller, resource_name)
    return write.execute(MoveToCluster(id, find_resource(organization, caller, body.cluster)), of=id, id=id)


def _pipeline_types() -> tuple[str, ...]:
    """Return the types of resources that are pipelines, including saved queries and types without a definition."""
    return (*shipped_vocabulary().pipeline_kinds, *_WITHOUT_DEFINITION)


def _require_new_stream_names(organization: Organization, pipeline: ResourceId, definition: PipelineDefinition) -> None:
    """Raise `InvalidError` if a new stream of the pipeline has an invalid name. Existing streams keep their names."""
    if not isinstance(definition, Streaming):
        return
    before = organization.store.document("pipeline", pipeline) or {}
    known = {each["name"] for each in before.get("streams", ())}
    for stream in definition.streams:
        if stream.name not in known:
            require_new_name(stream.name)


def _there(organization: Organization, caller: Caller, pipeline: str, place: ResourceId | None) -> ResourceId | None:
    """Return the pipeline of this name that the caller may see, below `place` or, without a place, anywhere; else None."""
    control = organization.control
    if place is None:
        return resolve_visible(control.answers, caller, control.now, pipeline)
    found = control.snapshot.children.get(place, NO_NAMES).get(pipeline.rpartition(".")[2])
    return found if found is not None and control.is_visible(caller, found) else None


def _rows(organization: Organization, moment: Evaluation, found: Any) -> list[dict[str, Any]]:
    facts, name = moment.facts, display_name_for(organization, moment)
    running = {run.pipeline for run in facts.runs.values()}
    return [
        {
            "id": each.id,
            "kind": each.type,
            "name": moment.name(each.id),
            "run_as": name(facts.run_as[each.id]) if each.id in facts.run_as else None,
            "state": next(iter(each.attributes.get(STATE, ())), "active"),
            "running": each.id in running,
        }
        for each in found
    ]


def _switch(
    deployed: AppState,
    organization: Organization,
    moment: Evaluation,
    pipeline: str,
    stream: str,
    write: Write,
    *,
    enabled: bool,
) -> dict[str, Any]:
    found, definition, write = _require_definition(organization, moment, pipeline, write)
    meant = next((each for each in definition.streams if each.name == stream), None)
    tables = tuple(split_name(each.table) for each in list_outputs((meant,))) if meant else ()
    layer = moment.facts.find(tables[0][:-1]) if tables else None
    if meant is None or layer is None:
        raise NotFoundError(organization.wording.hidden((pipeline, stream)))
    streams = tuple(
        each.model_copy(update={"enabled": enabled}) if each is meant else each for each in definition.streams
    )
    titles = tuple(each[-1] for each in tables)
    document: Mapping[str, Any] = definition.model_copy(update={"streams": streams}).model_dump(mode="json")
    command = SwitchStream(found.id, layer.id, titles, enabled, document)
    if not enabled:
        return write.execute(command, of=found.id, id=found.id)
    decided = write.decide(command, of=found.id, id=found.id)
    require_egress(organization, deployed.egress(organization), found.relations)
    return decided.finish()


def _require_definition(
    organization: Organization, moment: Evaluation, name: str, write: Write
) -> tuple[Resource, Streaming, Write]:
    """Return a pipeline with streams, its definition, and the write, which expects this version of the definition."""
    found = find_readable(organization, moment, name)
    # Before the definition is read: after a change in between, the version is an older one, and the write is refused.
    stated = resource_version(moment.facts, organization.store, found.id)
    document = organization.store.document("pipeline", found.id)
    definition = parse_definition(document) if document is not None else None
    if not isinstance(definition, Streaming):
        raise ProblemError(
            422,
            "invalid",
            f"`{name}` has no streams, because it is not a source or integration with a saved definition; name a source or "
            "integration, or save its definition first",
        )
    return found, definition, replace(write, if_match=write.if_match or stated)
