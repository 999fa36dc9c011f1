"""Groups that can be granted to."""

from functools import partial
from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel

from headgate.control.identity.groups import ChangeMembership, CreateGroup, DeleteGroup, RenameGroup
from headgate.control.kernel.ids import new_id
from headgate.decision.types import Question
from headgate.endpoints.api.identity.me import Held, held
from headgate.endpoints.common import subject_lookup
from headgate.endpoints.common.context import By, Services, Uses
from headgate.endpoints.common.evaluation_time import Asking
from headgate.endpoints.common.paging import Pages, page
from headgate.endpoints.common.route_metadata import DISCOVER, needs
from headgate.endpoints.common.schemas import Page, Strict, Title
from headgate.endpoints.common.subject_lookup import meant, require_free, shown
from headgate.endpoints.common.versions import tagged
from headgate.endpoints.common.writes import DONE, Write, Writes
from headgate.facts.ids import GroupId, PrincipalId, ResourceId
from headgate.facts.snapshot import Snapshot

router = APIRouter(tags=["groups"])


class Group(BaseModel):
    """A set of principals; a built-in one is kept by the system."""

    id: str
    name: str
    built_in: bool
    members: int


class OneGroup(Group):
    """A group, with what was assigned to it on what the caller may see."""

    held: list[Held]
    version: str


class Member(BaseModel):
    """Somebody in a group."""

    id: str
    name: str
    kind: str


class GroupBody(Strict):
    """What a group is called."""

    name: Title


@router.get("/groups", response_model=Page[Group], **needs(DISCOVER))
def list_groups(services: Uses, asking: Asking, pages: Pages) -> dict[str, Any]:
    """List the groups that the caller may know of."""
    facts, seen = asking.facts, shown(asking)
    rows = (_row(services, facts, id) for id in facts.groups if seen(id))
    return page(rows, pages, ("name", "id", "members"), facts.revision)


@router.post("/groups", status_code=201, **DONE, **needs("organization.create_group"))
def create_group(body: GroupBody, write: Writes) -> dict[str, Any]:
    """Create an empty group."""
    id = GroupId(new_id("g"))
    unless = partial(require_free, write, body.name)
    return write.send(CreateGroup(id, body.name), ResourceId(id), unless=unless, id=id, name=body.name)


@router.get("/groups/{group}", response_model=OneGroup, **needs(DISCOVER))
def show_group(group: str, services: Uses, caller: By, response: Response) -> dict[str, Any]:
    """Tell about a group."""
    id, facts = subject_lookup.group(services, caller, group), services.control.snapshot
    found = tagged(response, services, facts, ResourceId(id))
    return {**_row(services, facts, id), "held": held(services, caller, id), "version": found}


@router.patch("/groups/{group}", **DONE, **needs("group.rename", "group.edit"))
def rename_group(group: str, body: GroupBody, services: Uses, caller: By, write: Writes) -> dict[str, Any]:
    """Give a group another name."""
    id = subject_lookup.group(services, caller, group)
    unless = partial(require_free, write, body.name, id)
    return write.send(RenameGroup(id, body.name), ResourceId(id), unless=unless, id=id, name=body.name)


@router.delete("/groups/{group}", **DONE, **needs("group.delete"))
def delete_group(group: str, services: Uses, caller: By, write: Writes) -> dict[str, Any]:
    """Delete a group, with what was assigned to it."""
    id = subject_lookup.group(services, caller, group)
    return write.send(DeleteGroup(id), ResourceId(id), id=id)


@router.get("/groups/{group}/members", response_model=Page[Member], **needs(DISCOVER))
def list_members(group: str, services: Uses, caller: By, pages: Pages) -> dict[str, Any]:
    """List who is in a group, for who may know of the group."""
    facts = services.control.snapshot
    members = facts.groups[subject_lookup.group(services, caller, group)].members
    rows = ({"id": id, "name": services.directory.name(id), "kind": facts.principals[id].kind} for id in members)
    return page(rows, pages, ("name", "id"), facts.revision)


@router.put("/groups/{group}/members/{member}", **DONE, **needs("group.add_member"))
def add_member(group: str, member: str, services: Uses, caller: By, write: Writes) -> dict[str, Any]:
    """Put somebody into a group."""
    return _change(services, caller, write, group, member, joins=True)


@router.delete("/groups/{group}/members/{member}", **DONE, **needs("group.remove_member"))
def remove_member(group: str, member: str, services: Uses, caller: By, write: Writes) -> dict[str, Any]:
    """Take somebody out of a group."""
    return _change(services, caller, write, group, member, joins=False)


def _change(services: Services, caller: By, write: Write, group: str, member: str, *, joins: bool) -> dict[str, Any]:
    id = subject_lookup.group(services, caller, group)
    asked = Question(caller, "group.add_member" if joins else "group.remove_member", ResourceId(id))
    who = PrincipalId(meant(services, asked, member))
    return write.send(ChangeMembership(id, who, joins), ResourceId(id), id=id)


def _row(services: Services, facts: Snapshot, id: GroupId) -> dict[str, Any]:
    found = facts.groups[id]
    return {
        "id": id,
        "name": services.directory.name(id),
        "built_in": found.built_in,
        "members": len(found.members),
    }
