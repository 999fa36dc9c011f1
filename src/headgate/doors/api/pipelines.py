"""Pipelines and their runs."""

from operator import itemgetter
from typing import Annotated, Any

from fastapi import APIRouter, Body

from headgate.control.command import InvalidError, MissingError
from headgate.control.ids import new_id
from headgate.control.pipelines import KINDS, DeletePipeline, SavePipeline
from headgate.doors.api.names import project, resource
from headgate.doors.services import By, Uses
from headgate.facts.ids import ResourceId, RunId
from headgate.pipelines.definition import Definition, relations

router = APIRouter(tags=["pipelines"])


@router.get("/pipelines")
def list_pipelines(services: Uses, caller: By) -> list[dict[str, Any]]:
    """The pipelines that the caller may see."""
    facts = services.control.snapshot
    pipelines = [
        {
            "name": each.name,
            "kind": each.type,
            "run_as": services.directory.name(facts.run_as[id]) if id in facts.run_as else None,
            "running": any(run.pipeline == id for run in facts.runs.values()),
        }
        for id, each in facts.resources.items()
        if each.type in KINDS and services.control.sees(caller, id)
    ]
    return sorted(pipelines, key=itemgetter("name"))


@router.put("/pipelines/{name}")
def save_pipeline(name: str, definition: Annotated[Definition, Body()], services: Uses, caller: By) -> dict[str, Any]:
    """Make a pipeline, or replace its definition. From now on its runs use the caller's rights."""
    if definition.name != name:
        raise InvalidError(f"the definition is of `{definition.name}`, the address says `{name}`")
    edges = relations(definition, services.gate, caller)
    # A hidden one is as missing: who may make a pipeline hears that the name is taken, nobody else anything of it.
    id = services.gate.discover(caller, (name,)).resource or ResourceId(new_id("pl"))
    command = SavePipeline(id, project(services), definition.kind, name, edges, definition.model_dump(mode="json"))
    return {"name": name, "revision": services.control.execute(command, caller).revision}


@router.get("/pipelines/{name}")
def show_pipeline(name: str, services: Uses, caller: By) -> dict[str, Any]:
    """A pipeline's definition."""
    document = services.store.document("pipeline", resource(services, caller, name))
    if document is None:
        raise MissingError(services.wording.hidden((name,)))
    return dict(document)


@router.delete("/pipelines/{name}")
def delete_pipeline(name: str, services: Uses, caller: By) -> dict[str, Any]:
    """Delete a pipeline; the tables it wrote stay."""
    after = services.control.execute(DeletePipeline(resource(services, caller, name)), caller)
    return {"revision": after.revision}


@router.post("/pipelines/{name}/runs", status_code=202)
def trigger(name: str, services: Uses, caller: By) -> dict[str, Any]:
    """Start a run; its document tells how it goes."""
    return {"run": services.runner.start(resource(services, caller, name), caller)}


@router.get("/runs/{run}")
def show_run(run: str, services: Uses, caller: By) -> dict[str, Any]:
    """A run's state, log and progress, for who may see the runs of its pipeline."""
    document = services.store.document("run", RunId(run))
    pipeline = services.control.snapshot.resources.get(ResourceId(str((document or {}).get("pipeline"))))
    if document is None or pipeline is None:
        raise MissingError(f"there is no run `{run}` that you may see")
    if not services.gate.check(caller, f"{pipeline.type}.see_runs", (pipeline.name,)).allowed:
        raise MissingError(f"there is no run `{run}` that you may see")
    return {"run": run, "name": pipeline.name, **document}
