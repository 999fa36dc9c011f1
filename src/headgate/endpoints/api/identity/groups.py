"""Groups: sets of principals that roles can be assigned to."""

from typing import Any

from fastapi import Response
from pydantic import BaseModel

from headgate.control.identity.groups import ChangeMembership, CreateGroup, DeleteGroup, RenameGroup
from headgate.control.kernel.ids import new_id
from headgate.control.organizations.organization import Organization
from headgate.decision.types import Question
from headgate.endpoints.api.identity.me import HeldRole, list_held_roles
from headgate.endpoints.common import subject_lookup
from headgate.endpoints.common.context import CurrentCaller, CurrentOrganization
from headgate.endpoints.common.evaluation_time import RequestedEvaluation
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.paging import CurrentPaging, page_of_rows
from headgate.endpoints.common.route_metadata import DISCOVER, document_actions
from headgate.endpoints.common.schemas import StrictSchema, Title, page_model
from headgate.endpoints.common.subject_lookup import require_free, resolve_subject, visibility_filter
from headgate.endpoints.common.versions import set_etag
from headgate.endpoints.common.writes import DONE, Write, Writes
from headgate.facts.ids import GroupId, PrincipalId, ResourceId
from headgate.facts.snapshot import Snapshot

router = ApiRouter(tags=["groups"])


class GroupSummary(BaseModel):
    """A group: a set of principals. The system maintains the members of a built-in group."""

    id: str
    name: str
    built_in: bool
    members: int


class Group(GroupSummary):
    """A group, with its roles on the resources that the caller may see."""

    held: list[HeldRole]
    version: str


class GroupMember(BaseModel):
    """A member of a group."""

    id: str
    name: str
    kind: str


class GroupCreate(StrictSchema):
    """The name of a group."""

    name: Title


@router.get("/groups", response_model=page_model(GroupSummary), **document_actions(DISCOVER))
def list_groups(organization: CurrentOrganization, asking: RequestedEvaluation, pages: CurrentPaging) -> dict[str, Any]:
    """List the groups that the caller may know of."""
    facts, seen = asking.facts, visibility_filter(asking)
    rows = (_row(organization, facts, id) for id in facts.groups if seen(id))
    return page_of_rows(rows, pages, ("name", "id", "members"), facts.revision)


@router.post("/groups", status_code=201, **DONE, **document_actions("organization.create_group"))
def create_group(body: GroupCreate, write: Writes) -> dict[str, Any]:
    """Create an empty group."""
    id = GroupId(new_id("g"))
    decided = write.decide(CreateGroup(id, body.name), ResourceId(id), id=id, name=body.name)
    require_free(write, body.name)
    return decided.finish()


@router.get("/groups/{group}", response_model=Group, **document_actions(DISCOVER))
def get_group(
    group: str, organization: CurrentOrganization, caller: CurrentCaller, response: Response
) -> dict[str, Any]:
    """Get a group."""
    id, facts = subject_lookup.group_of_name(organization, caller, group), organization.control.snapshot
    found = set_etag(response, organization, facts, ResourceId(id))
    return {**_row(organization, facts, id), "held": list_held_roles(organization, caller, id), "version": found}


@router.patch("/groups/{group}", **DONE, **document_actions("group.rename", "group.edit"))
def update_group(
    group: str, body: GroupCreate, organization: CurrentOrganization, caller: CurrentCaller, write: Writes
) -> dict[str, Any]:
    """Rename a group."""
    id = subject_lookup.group_of_name(organization, caller, group)
    decided = write.decide(RenameGroup(id, body.name), ResourceId(id), id=id, name=body.name)
    require_free(write, body.name, id)
    return decided.finish()


@router.delete("/groups/{group}", **DONE, **document_actions("group.delete"))
def delete_group(group: str, organization: CurrentOrganization, caller: CurrentCaller, write: Writes) -> dict[str, Any]:
    """Delete a group and its role assignments."""
    id = subject_lookup.group_of_name(organization, caller, group)
    return write.execute(DeleteGroup(id), ResourceId(id), id=id)


@router.get("/groups/{group}/members", response_model=page_model(GroupMember), **document_actions(DISCOVER))
def list_group_members(
    group: str, organization: CurrentOrganization, caller: CurrentCaller, pages: CurrentPaging
) -> dict[str, Any]:
    """List the members of a group. A caller that may know of the group may know its members."""
    facts = organization.control.snapshot
    members = facts.groups[subject_lookup.group_of_name(organization, caller, group)].members
    rows = ({"id": id, "name": organization.directory.name(id), "kind": facts.principals[id].kind} for id in members)
    return page_of_rows(rows, pages, ("name", "id"), facts.revision)


@router.put("/groups/{group}/members/{member}", **DONE, **document_actions("group.add_member"))
def add_group_member(
    group: str, member: str, organization: CurrentOrganization, caller: CurrentCaller, write: Writes
) -> dict[str, Any]:
    """Add a member to a group."""
    return _change(organization, caller, write, group, member, joins=True)


@router.delete("/groups/{group}/members/{member}", **DONE, **document_actions("group.remove_member"))
def remove_group_member(
    group: str, member: str, organization: CurrentOrganization, caller: CurrentCaller, write: Writes
) -> dict[str, Any]:
    """Remove a member from a group."""
    return _change(organization, caller, write, group, member, joins=False)


def _change(
    organization: Organization, caller: CurrentCaller, write: Write, group: str, member: str, *, joins: bool
) -> dict[str, Any]:
    id = subject_lookup.group_of_name(organization, caller, group)
    asked = Question(caller, "group.add_member" if joins else "group.remove_member", ResourceId(id))
    who = PrincipalId(resolve_subject(organization, asked, member))
    return write.execute(ChangeMembership(id, who, joins), ResourceId(id), id=id)


def _row(organization: Organization, facts: Snapshot, id: GroupId) -> dict[str, Any]:
    found = facts.groups[id]
    return {
        "id": id,
        "name": organization.directory.name(id),
        "built_in": found.built_in,
        "members": len(found.members),
    }
