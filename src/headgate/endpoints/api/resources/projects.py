"""Projects: parts of an organization, each governed by one access model."""

from typing import Any

from fastapi import Response
from pydantic import BaseModel

from headgate.control.kernel.ids import new_id
from headgate.control.questions.resource_names import ORGANIZATION_NAME
from headgate.control.resources.changes import RenameResource
from headgate.control.resources.commands import CreateResource, DeleteResource
from headgate.endpoints.common.context import CurrentCaller, CurrentOrganization
from headgate.endpoints.common.evaluation_time import RequestedEvaluation
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.lookup import find_resource, find_visible
from headgate.endpoints.common.paging import CurrentPaging, page_of_rows
from headgate.endpoints.common.route_metadata import DISCOVER, document_actions
from headgate.endpoints.common.schemas import Called, StrictSchema, Title, page_model
from headgate.endpoints.common.versions import set_etag
from headgate.endpoints.common.writes import DONE, Writes
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Resource, Snapshot

router = ApiRouter(tags=["projects"])

_TYPE = "project"


class ProjectSummary(BaseModel):
    """A project, and the access model that governs it."""

    id: str
    name: str
    model: str


class Project(ProjectSummary):
    """A project, with its version."""

    version: str


class ProjectCreate(StrictSchema):
    """The name of a project."""

    name: Title


@router.get("/projects", response_model=page_model(ProjectSummary), **document_actions(DISCOVER))
def list_projects(asking: RequestedEvaluation, pages: CurrentPaging) -> dict[str, Any]:
    """List the projects that the caller may see."""
    found = (each for each in asking.facts.resources.values() if each.type == _TYPE)
    rows = (_row(asking.facts, each) for each in found if asking.sees(each.id))
    return page_of_rows(rows, pages, ("name", "id", "model"), asking.facts.revision)


@router.post("/projects", status_code=201, **DONE, **document_actions("organization.create_project"))
def create_project(
    body: ProjectCreate, organization: CurrentOrganization, caller: CurrentCaller, write: Writes
) -> dict[str, Any]:
    """Create a project."""
    id = ResourceId(new_id("r"))
    command = CreateResource(id, _TYPE, find_resource(organization, caller, ORGANIZATION_NAME), body.name)
    return write.execute(command, id, id=id, name=body.name)


@router.get("/projects/{project}", response_model=Project, **document_actions(DISCOVER))
def get_project(
    project: Called, organization: CurrentOrganization, caller: CurrentCaller, response: Response
) -> dict[str, Any]:
    """Get a project."""
    found, facts = find_visible(organization, caller, project, _TYPE), organization.control.snapshot
    shown = set_etag(response, organization, facts, found.id)
    return {**_row(facts, found), "version": shown}


@router.patch("/projects/{project}", **DONE, **document_actions("project.edit"))
def update_project(
    project: Called, body: ProjectCreate, organization: CurrentOrganization, caller: CurrentCaller, write: Writes
) -> dict[str, Any]:
    """Rename a project."""
    found = find_visible(organization, caller, project, _TYPE)
    return write.execute(RenameResource(found.id, body.name), found.id, id=found.id, name=body.name)


@router.delete("/projects/{project}", **DONE, **document_actions("project.delete"))
def delete_project(
    project: Called, organization: CurrentOrganization, caller: CurrentCaller, write: Writes
) -> dict[str, Any]:
    """Delete a project and everything in it."""
    found = find_visible(organization, caller, project, _TYPE)
    return write.execute(DeleteResource(found.id), found.id, id=found.id)


def _row(facts: Snapshot, found: Resource) -> dict[str, Any]:
    return {"id": found.id, "name": found.name, "model": facts.find_governing_models(found.id)[0]}
