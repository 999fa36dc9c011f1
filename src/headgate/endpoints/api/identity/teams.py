"""Teams and domains: the nodes of the ownership tree, and their members with their roles."""

from typing import Annotated, Any

from fastapi import Depends, Query, Request, Response
from pydantic import BaseModel, Field

from headgate.control.access.assignments import AssignRole, ChangeRole, RevokeRole
from headgate.control.approvals.change_payload import command_from_payload
from headgate.control.kernel.command import Command
from headgate.control.kernel.errors import NotFoundError
from headgate.control.kernel.ids import new_id
from headgate.control.organizations.organization import Organization
from headgate.control.questions.resource_names import ORGANIZATION_NAME, list_candidates
from headgate.control.resources.commands import CreateResource, DeleteResource
from headgate.decision.types import Question
from headgate.endpoints.common.context import CurrentCaller, CurrentOrganization
from headgate.endpoints.common.evaluation_time import RequestedEvaluation
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.lookup import find_resource, find_visible, full_name
from headgate.endpoints.common.paging import CurrentPaging, page_of_rows
from headgate.endpoints.common.route_metadata import DISCOVER, document_actions
from headgate.endpoints.common.schemas import Called, StrictSchema, Title, page_model
from headgate.endpoints.common.subject_lookup import resolve_subject
from headgate.endpoints.common.versions import set_etag
from headgate.endpoints.common.writes import DONE, Writes
from headgate.facts.ids import ResourceId, SubjectId
from headgate.facts.snapshot import NO_SUBJECTS, Assignment, Resource, Snapshot

router = ApiRouter(tags=["teams"])


async def team_type_of(request: Request) -> str:
    """Return the type of node, team or domain, that the route of a request is for."""
    return "team" if "/teams" in request.scope["route"].path else "domain"


Kind = Annotated[str, Depends(team_type_of)]


class TeamSummary(BaseModel):
    """A team or domain of the ownership tree, with its full name and its parent."""

    id: str
    type: str
    name: str
    parent: str


class Team(TeamSummary):
    """A team or domain, with its version."""

    version: str


class TeamMember(BaseModel):
    """A member of a team or domain, with its role from `starts` until `ends` (seconds since the epoch; null = open)."""

    id: str
    name: str
    role: str
    starts: float | None
    ends: float | None


class TeamCreate(StrictSchema):
    """A new team or domain, below another team or domain, or below the organization."""

    name: Title
    parent: Called = ORGANIZATION_NAME


class TeamPatch(StrictSchema):
    """One change of a team or domain: a new name or a new parent."""

    name: Title | None = None
    parent: Called | None = None


class TeamMemberCreate(StrictSchema):
    """The role of a member in a team or domain."""

    role: Annotated[Called, Field(max_length=100)]


@router.get("/teams", name="list_teams", response_model=page_model(TeamSummary), **document_actions(DISCOVER))
@router.get("/domains", name="list_domains", response_model=page_model(TeamSummary), **document_actions(DISCOVER))
def list_nodes(
    type: Kind, asking: RequestedEvaluation, pages: CurrentPaging, parent: Annotated[Called | None, Query()] = None
) -> dict[str, Any]:
    """List the teams or domains that the caller may see: all of them, or the children of `parent`."""
    above = asking.resource(parent).id if parent is not None else None
    found = (each for each in asking.facts.resources.values() if each.type == type and above in (None, each.parent))
    rows = (_row(asking.facts, each) for each in found if asking.sees(each.id))
    return page_of_rows(rows, pages, ("name", "id"), asking.facts.revision)


@router.post("/teams", name="create_team", status_code=201, **DONE, **document_actions("{type}.create_team"))
@router.post("/domains", name="create_domain", status_code=201, **DONE, **document_actions("{type}.create_domain"))
def create_node(
    type: Kind, body: TeamCreate, organization: CurrentOrganization, caller: CurrentCaller, write: Writes
) -> dict[str, Any]:
    """Create a team or domain."""
    id, parent = ResourceId(new_id("r")), find_resource(organization, caller, body.parent)
    name = full_name(organization.control.snapshot, parent, body.name)
    return write.execute(CreateResource(id, type, parent, body.name), id, id=id, name=name)


@router.get("/teams/{team}", name="get_team", response_model=Team, **document_actions(DISCOVER))
@router.get("/domains/{team}", name="get_domain", response_model=Team, **document_actions(DISCOVER))
def get_node(
    type: Kind, team: Called, organization: CurrentOrganization, caller: CurrentCaller, response: Response
) -> dict[str, Any]:
    """Get a team or domain."""
    found, facts = find_visible(organization, caller, team, type), organization.control.snapshot
    shown = set_etag(response, organization, facts, found.id)
    return {**_row(facts, found), "version": shown}


@router.patch(
    "/teams/{team}", name="update_team", **DONE, **document_actions("team.edit", "team.delete", "{parent}.create_team")
)
@router.patch(
    "/domains/{team}",
    name="update_domain",
    **DONE,
    **document_actions("domain.edit", "domain.delete", "{parent}.create_domain"),
)
def update_node(
    type: Kind, team: Called, body: TeamPatch, organization: CurrentOrganization, caller: CurrentCaller, write: Writes
) -> dict[str, Any]:
    """Rename a team or domain, or move it to another parent."""
    found, said = find_visible(organization, caller, team, type), dict(body.model_dump(exclude_none=True))
    if body.parent is not None:
        said["parent"] = find_resource(organization, caller, body.parent)
    return write.execute(command_from_payload(found, said), found.id, id=found.id)


@router.delete("/teams/{team}", name="delete_team", **DONE, **document_actions("team.delete"))
@router.delete("/domains/{team}", name="delete_domain", **DONE, **document_actions("domain.delete"))
def delete_node(
    type: Kind, team: Called, organization: CurrentOrganization, caller: CurrentCaller, write: Writes
) -> dict[str, Any]:
    """Delete a team or domain and everything below it."""
    found = find_visible(organization, caller, team, type)
    return write.execute(DeleteResource(found.id), found.id, id=found.id)


@router.get(
    "/teams/{team}/members",
    name="list_team_members",
    response_model=page_model(TeamMember),
    **document_actions(DISCOVER),
)
@router.get(
    "/domains/{team}/members",
    name="list_domain_members",
    response_model=page_model(TeamMember),
    **document_actions(DISCOVER),
)
def list_team_members(
    type: Kind, team: Called, organization: CurrentOrganization, caller: CurrentCaller, pages: CurrentPaging
) -> dict[str, Any]:
    """List the direct members of a team or domain, with their roles. A caller that may see the team may see its members."""
    found, facts = find_visible(organization, caller, team, type), organization.control.snapshot
    rows = (_member(organization, each) for each in facts.list_assigned_on(found.id))
    return page_of_rows(rows, pages, ("name", "role", "id"), facts.revision)


@router.put(
    "/teams/{team}/members/{member}",
    name="put_team_member",
    **DONE,
    **document_actions("assignment.add", "assignment.change"),
)
@router.put(
    "/domains/{team}/members/{member}",
    name="put_domain_member",
    **DONE,
    **document_actions("assignment.add", "assignment.change"),
)
def put_team_member(
    type: Kind,
    team: Called,
    member: Called,
    body: TeamMemberCreate,
    organization: CurrentOrganization,
    caller: CurrentCaller,
    write: Writes,
) -> dict[str, Any]:
    """Add a member with a role to a team or domain, or change the role of a member."""
    place = find_visible(organization, caller, team, type)
    held = _find_membership(organization, place.id, member)
    command: Command
    if held is None:
        asked = Question(caller, "assignment.add", place.id, role=body.role)
        command = AssignRole(resolve_subject(organization, asked, member), body.role, place.id)
    else:
        command = ChangeRole(held.subject, held.role, body.role, place.id, held.reason)
    return write.execute(command, place.id, id=place.id)


@router.delete(
    "/teams/{team}/members/{member}", name="remove_team_member", **DONE, **document_actions("assignment.remove")
)
@router.delete(
    "/domains/{team}/members/{member}", name="remove_domain_member", **DONE, **document_actions("assignment.remove")
)
def remove_team_member(
    type: Kind, team: Called, member: Called, organization: CurrentOrganization, caller: CurrentCaller, write: Writes
) -> dict[str, Any]:
    """Remove a member from a team or domain."""
    place = find_visible(organization, caller, team, type)
    held = _find_membership(organization, place.id, member)
    if held is None:
        raise NotFoundError(organization.wording.hidden((member,)))
    return write.execute(RevokeRole(held.subject, held.role, place.id, held.reason), place.id, id=place.id)


def _find_membership(organization: Organization, team: ResourceId, name: str) -> Assignment | None:
    """Return the role assignment of a member (an id or name) in a team, or None.

    Needs no check of visibility: every caller that may see the team may see its members.
    """
    facts = organization.control.snapshot
    members = facts.assignments_on.get(team, NO_SUBJECTS)
    named: tuple[SubjectId | None, ...] = (organization.directory.find(name), *list_candidates(facts, name))
    found = next((subject for subject in named if subject is not None and subject in members), None)
    return None if found is None else facts.assignments[found][members[found][0]]


def _row(facts: Snapshot, found: Resource) -> dict[str, Any]:
    return {"id": found.id, "type": found.type, "name": full_name(facts, found.id), "parent": found.parent}


def _member(organization: Organization, held: Assignment) -> dict[str, Any]:
    name = organization.directory.name(held.subject)
    return {"id": held.subject, "name": name, "role": held.role, "starts": held.starts, "ends": held.ends}
