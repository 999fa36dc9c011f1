"""Runs of pipelines: how they go and went."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict

from headgate.control.command import MissingError, knows
from headgate.control.pipelines import CancelRun
from headgate.decision.asked import model_for
from headgate.decision.records import Question
from headgate.doors.api.bodies import Called, Page
from headgate.doors.api.names import full_name, resource
from headgate.doors.api.paging import Pages, page
from headgate.doors.api.routing import needs
from headgate.doors.api.writing import DONE, Writes
from headgate.doors.services import By, Services, Uses
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId, RunId
from headgate.facts.snapshot import Resource

router = APIRouter(tags=["pipelines"])

_KIND = "run"
_SEEING = ("see_runs", "describe")
_LOGS = "see_logs"


class RunLine(BaseModel):
    """A run of a pipeline: its state, and when it was started and ended (seconds since the epoch)."""

    run: str
    pipeline: str
    name: str
    state: str
    started: float
    ended: float | None


class ShownRun(RunLine):
    """A run with its log, as far as the caller may read it, and its progress."""

    model_config = ConfigDict(extra="allow")

    log: list[dict[str, Any]]


@router.get("/runs", response_model=Page[RunLine], **needs("{type}.see_runs"))
def list_runs(
    services: Uses, caller: By, pages: Pages, pipeline: Annotated[Called | None, Query()] = None
) -> dict[str, Any]:
    """List the runs of a pipeline, or of every pipeline, whose runs the caller may see."""
    only = resource(services, caller, pipeline) if pipeline is not None else None
    lines = [line for line, _ in runs_for(services, caller) if only in (None, line["pipeline"])]
    return page(lines, pages, ("started", "name", "state"), services.control.snapshot.revision, key="run")


@router.get("/runs/{run}", response_model=ShownRun, **needs("{type}.see_runs"))
def show_run(run: Called, services: Uses, caller: By) -> dict[str, Any]:
    """Show a run's state, log and progress."""
    document = services.store.document(_KIND, RunId(run))
    pipeline = _pipeline(services, document or {})
    if document is None or pipeline is None or not _may_see(services, caller, pipeline):
        raise MissingError(f"there is no run `{run}` that you may see")
    log = document.get("log", []) if _may_read(services, caller, pipeline) else []
    return {**document, **_line(services, run, document, pipeline), "log": log}


@router.post("/runs/{run}/cancel", **DONE, **needs("{type}.cancel"))
def cancel_run(run: Called, services: Uses, caller: By, write: Writes) -> dict[str, Any]:
    """End a run before its time."""
    show_run(run, services, caller)
    ended = {"state": "cancelled", "ended": services.control.now}
    return write.send(CancelRun(RunId(run), {**(services.store.document(_KIND, run) or {}), **ended}), id=run)


def runs_for(services: Services, caller: Caller) -> list[tuple[dict[str, Any], Mapping[str, Any]]]:
    """Return the runs that the caller may see, each with its document."""
    found = list[tuple[dict[str, Any], Mapping[str, Any]]]()
    seen = dict[ResourceId, bool]()
    for run, document in services.store.documents(_KIND).items():
        pipeline = _pipeline(services, document)
        if pipeline is None:
            continue
        if pipeline.id not in seen:
            seen[pipeline.id] = _may_see(services, caller, pipeline)
        if seen[pipeline.id]:
            found.append((_line(services, run, document, pipeline), document))
    return found


def _line(services: Services, run: str, document: Mapping[str, Any], pipeline: Resource) -> dict[str, Any]:
    return {
        "run": run,
        "pipeline": pipeline.id,
        "name": full_name(services.control.snapshot, pipeline.id),
        "state": document["state"],
        "started": document["started"],
        "ended": document.get("ended"),
    }


def _pipeline(services: Services, document: Mapping[str, Any]) -> Resource | None:
    return services.control.snapshot.resources.get(ResourceId(str(document.get("pipeline"))))


def _may_see(services: Services, caller: Caller, pipeline: Resource) -> bool:
    known = (each for each in _SEEING if _known(services, pipeline, each))
    verb = next(known, None)
    return verb is not None and _allowed(services, caller, pipeline, verb)


def _may_read(services: Services, caller: Caller, pipeline: Resource) -> bool:
    return not _known(services, pipeline, _LOGS) or _allowed(services, caller, pipeline, _LOGS)


def _known(services: Services, pipeline: Resource, verb: str) -> bool:
    model = model_for(services.control.models, services.control.snapshot, pipeline.type, pipeline.id)
    return model is not None and knows(model, f"{pipeline.type}.{verb}")


def _allowed(services: Services, caller: Caller, pipeline: Resource, verb: str) -> bool:
    return services.control.ask(Question(caller, f"{pipeline.type}.{verb}", pipeline.id)).allowed
