"""Teams and domains: the tree of who owns what, and who is in it with which role."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel, Field

from headgate.control.access.assignments import AssignRole, ChangeRole, RevokeRole
from headgate.control.approvals.change_payload import command_from_payload
from headgate.control.kernel.command import Command
from headgate.control.kernel.errors import NotFoundError
from headgate.control.kernel.ids import new_id
from headgate.control.organizations.organization import Organization
from headgate.control.resources.commands import CreateResource, DeleteResource
from headgate.decision.types import Question
from headgate.endpoints.common.context import CurrentCaller, CurrentOrganization
from headgate.endpoints.common.evaluation_time import RequestedEvaluation
from headgate.endpoints.common.lookup import ORGANIZATION_NAME, find_resource, find_visible, full_name
from headgate.endpoints.common.paging import CurrentPaging, page_of_rows
from headgate.endpoints.common.route_metadata import DISCOVER, document_actions
from headgate.endpoints.common.schemas import Called, StrictSchema, Title, page_model
from headgate.endpoints.common.subject_lookup import resolve_subject
from headgate.endpoints.common.versions import set_etag
from headgate.endpoints.common.writes import DONE, Writes
from headgate.facts.ids import ResourceId, SubjectId
from headgate.facts.snapshot import NO_SUBJECTS, Assignment, Resource, Snapshot

router = APIRouter(tags=["teams"])


async def team_type_of(request: Request) -> str:
    """Return the type that an address is about."""
    return "team" if "/teams" in request.scope["route"].path else "domain"


Kind = Annotated[str, Depends(team_type_of)]


class TeamSummary(BaseModel):
    """A node of the ownership tree, with its full name and what it lies under."""

    id: str
    type: str
    name: str
    parent: str


class Team(TeamSummary):
    """A node of the ownership tree, at a version."""

    version: str


class TeamMember(BaseModel):
    """Somebody in a team with a role there, from `starts` until `ends` (seconds since the epoch; None = open)."""

    id: str
    name: str
    role: str
    starts: float | None
    ends: float | None


class TeamCreate(StrictSchema):
    """A team or domain to make, below another one or the organization."""

    name: Title
    parent: Called = ORGANIZATION_NAME


class TeamPatch(StrictSchema):
    """What is to be different, one of these: another name, or another parent."""

    name: Title | None = None
    parent: Called | None = None


class TeamMemberCreate(StrictSchema):
    """The role that somebody has in a team."""

    role: Annotated[Called, Field(max_length=100)]


@router.get("/teams", name="list_teams", response_model=page_model(TeamSummary), **document_actions(DISCOVER))
@router.get("/domains", name="list_domains", response_model=page_model(TeamSummary), **document_actions(DISCOVER))
def list_nodes(
    type: Kind, asking: RequestedEvaluation, pages: CurrentPaging, parent: Annotated[Called | None, Query()] = None
) -> dict[str, Any]:
    """List the teams or domains that the caller may see: all of them, or those right below a parent."""
    above = asking.resource(parent).id if parent is not None else None
    found = (each for each in asking.facts.resources.values() if each.type == type and above in (None, each.parent))
    rows = (_row(asking.facts, each) for each in found if asking.sees(each.id))
    return page_of_rows(rows, pages, ("name", "id"), asking.facts.revision)


@router.post("/teams", name="create_team", status_code=201, **DONE, **document_actions("{type}.create_team"))
@router.post("/domains", name="create_domain", status_code=201, **DONE, **document_actions("{type}.create_domain"))
def create_node(
    type: Kind, body: TeamCreate, organization: CurrentOrganization, caller: CurrentCaller, write: Writes
) -> dict[str, Any]:
    """Make a team or domain."""
    id, parent = ResourceId(new_id("r")), find_resource(organization, caller, body.parent)
    name = full_name(organization.control.snapshot, parent, body.name)
    return write.execute(CreateResource(id, type, parent, body.name), id, id=id, name=name)


@router.get("/teams/{team}", name="get_team", response_model=Team, **document_actions(DISCOVER))
@router.get("/domains/{team}", name="get_domain", response_model=Team, **document_actions(DISCOVER))
def get_node(
    type: Kind, team: Called, organization: CurrentOrganization, caller: CurrentCaller, response: Response
) -> dict[str, Any]:
    """Tell about a team or domain."""
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
    """Give a team or domain another name or another parent."""
    found, said = find_visible(organization, caller, team, type), dict(body.model_dump(exclude_none=True))
    if body.parent is not None:
        said["parent"] = find_resource(organization, caller, body.parent)
    return write.execute(command_from_payload(found, said), found.id, id=found.id)


@router.delete("/teams/{team}", name="delete_team", **DONE, **document_actions("team.delete"))
@router.delete("/domains/{team}", name="delete_domain", **DONE, **document_actions("domain.delete"))
def delete_node(
    type: Kind, team: Called, organization: CurrentOrganization, caller: CurrentCaller, write: Writes
) -> dict[str, Any]:
    """Delete a team or domain, with everything below it."""
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
    """List who is in a team or domain itself, with which role, for who may see it."""
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
    """Put somebody into a team or domain with a role, or give another role to who is there."""
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
    """Take somebody out of a team or domain."""
    place = find_visible(organization, caller, team, type)
    held = _find_membership(organization, place.id, member)
    if held is None:
        raise NotFoundError(organization.wording.hidden((member,)))
    return write.execute(RevokeRole(held.subject, held.role, place.id, held.reason), place.id, id=place.id)


def _find_membership(organization: Organization, team: ResourceId, name: str) -> Assignment | None:
    """Return what somebody of this id or name holds in a team. Who sees the team sees who is in it."""
    facts = organization.control.snapshot
    subject: SubjectId | None = organization.directory.find(name)
    keys = facts.assignments_on.get(team, NO_SUBJECTS).get(subject, ()) if subject else ()
    return facts.assignments[subject][keys[0]] if subject and keys else None


def _row(facts: Snapshot, found: Resource) -> dict[str, Any]:
    return {"id": found.id, "type": found.type, "name": full_name(facts, found.id), "parent": found.parent}


def _member(organization: Organization, held: Assignment) -> dict[str, Any]:
    name = organization.directory.name(held.subject)
    return {"id": held.subject, "name": name, "role": held.role, "starts": held.starts, "ends": held.ends}
