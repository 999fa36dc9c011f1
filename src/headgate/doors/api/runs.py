"""Runs of pipelines: how they go and went."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict

from headgate.control.command import MissingError, knows
from headgate.control.pipelines import CancelRun
from headgate.decision.asked import model_for
from headgate.decision.records import Question
from headgate.doors.api.asking import Moment, Present
from headgate.doors.api.bodies import Called, Page
from headgate.doors.api.names import full_name
from headgate.doors.api.paging import Pages, page
from headgate.doors.api.routing import needs
from headgate.doors.api.writing import DONE, Writes
from headgate.doors.services import Services, Uses
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
    services: Uses, moment: Present, pages: Pages, pipeline: Annotated[Called | None, Query()] = None
) -> dict[str, Any]:
    """List the runs of a pipeline, or of every pipeline, whose runs the caller may see."""
    only = moment.resource(pipeline).id if pipeline is not None else None
    lines = [line for line, _ in runs_for(services, moment) if only in (None, line["pipeline"])]
    return page(lines, pages, ("started", "name", "state"), moment.facts.revision, key="run")


@router.get("/runs/{run}", response_model=ShownRun, **needs("{type}.see_runs"))
def show_run(run: Called, services: Uses, moment: Present) -> dict[str, Any]:
    """Show a run's state, log and progress."""
    document = services.store.document(_KIND, RunId(run))
    pipeline = _pipeline(moment, document or {})
    if document is None or pipeline is None or not _may_see(moment, pipeline):
        raise MissingError(f"there is no run `{run}` that you may see")
    log = document.get("log", []) if _may_read(moment, pipeline) else []
    return {**document, **_line(moment, run, document, pipeline), "log": log}


@router.post("/runs/{run}/cancel", **DONE, **needs("{type}.cancel"))
def cancel_run(run: Called, services: Uses, moment: Present, write: Writes) -> dict[str, Any]:
    """End a run before its time."""
    show_run(run, services, moment)
    ended = {"state": "cancelled", "ended": services.control.now}
    return write.send(CancelRun(RunId(run), {**(services.store.document(_KIND, run) or {}), **ended}), id=run)


def runs_for(services: Services, moment: Moment) -> list[tuple[dict[str, Any], Mapping[str, Any]]]:
    """Return the runs that the caller may see, each with its document."""
    found = list[tuple[dict[str, Any], Mapping[str, Any]]]()
    seen = dict[ResourceId, bool]()
    for run, document in services.store.documents(_KIND).items():
        pipeline = _pipeline(moment, document)
        if pipeline is None:
            continue
        if pipeline.id not in seen:
            seen[pipeline.id] = _may_see(moment, pipeline)
        if seen[pipeline.id]:
            found.append((_line(moment, run, document, pipeline), document))
    return found


def _line(moment: Moment, run: str, document: Mapping[str, Any], pipeline: Resource) -> dict[str, Any]:
    return {
        "run": run,
        "pipeline": pipeline.id,
        "name": full_name(moment.facts, pipeline.id),
        "state": document["state"],
        "started": document["started"],
        "ended": document.get("ended"),
    }


def _pipeline(moment: Moment, document: Mapping[str, Any]) -> Resource | None:
    return moment.facts.resources.get(ResourceId(str(document.get("pipeline"))))


def _may_see(moment: Moment, pipeline: Resource) -> bool:
    known = (each for each in _SEEING if known_action(moment, pipeline, each))
    verb = next(known, None)
    return verb is not None and _allowed(moment, pipeline, verb)


def _may_read(moment: Moment, pipeline: Resource) -> bool:
    return not known_action(moment, pipeline, _LOGS) or _allowed(moment, pipeline, _LOGS)


def known_action(moment: Moment, found: Resource, verb: str) -> str | None:
    """Return the action of this verb on a resource, if the access model there knows it."""
    action = f"{found.type}.{verb}"
    model = model_for(moment.answers.models, moment.facts, found.type, found.id)
    return action if model is not None and knows(model, action) else None


def _allowed(moment: Moment, pipeline: Resource, verb: str) -> bool:
    question = Question(moment.caller, f"{pipeline.type}.{verb}", pipeline.id)
    return moment.answers.check(question, moment.now).allowed
