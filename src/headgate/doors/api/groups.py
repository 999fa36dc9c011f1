"""Groups of principals."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from headgate.control.command import TakenError
from headgate.control.groups import ChangeMembership, CreateGroup
from headgate.control.ids import new_id
from headgate.doors.api.names import require
from headgate.doors.api.people import PersonName
from headgate.doors.services import By, Uses
from headgate.facts.ids import GroupId

router = APIRouter(tags=["groups"])


class NewGroup(BaseModel):
    """A group to create."""

    name: PersonName


@router.post("/groups", status_code=201)
def create_group(body: NewGroup, services: Uses, caller: By) -> dict[str, Any]:
    """Create an empty group."""
    require(services, caller, "organization.manage_users")
    if not services.directory.is_free(body.name):
        raise TakenError(f"there is a `{body.name}` already")
    after = services.control.execute(CreateGroup(GroupId(new_id("g")), body.name), caller)
    return {"name": body.name, "revision": after.revision}


@router.put("/groups/{group}/members/{name}")
def add_member(group: str, name: str, services: Uses, caller: By) -> dict[str, Any]:
    """Put somebody into the group."""
    return _change(services, caller, group, name, member=True)


@router.delete("/groups/{group}/members/{name}")
def remove_member(group: str, name: str, services: Uses, caller: By) -> dict[str, Any]:
    """Take somebody out of the group."""
    return _change(services, caller, group, name, member=False)


def _change(services: Uses, caller: By, group: str, name: str, *, member: bool) -> dict[str, Any]:
    require(services, caller, "organization.manage_users")
    who = services.directory.principal(name)
    after = services.control.execute(ChangeMembership(services.directory.group(group), who, member), caller)
    return {"revision": after.revision}
