"""Who holds which role where."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from headgate.control.assignments import AssignRole, RevokeRole
from headgate.doors.api.names import resource, written
from headgate.doors.services import By, Uses

router = APIRouter(tags=["assignments"])


class NewAssignment(BaseModel):
    """A role on a resource, for a person or group by name."""

    subject: str
    role: str
    resource: str


@router.get("/assignments")
def list_assignments(services: Uses, caller: By) -> list[dict[str, Any]]:
    """Every assignment on resources that the caller may see."""
    facts = services.control.snapshot
    return [
        {
            "subject": services.directory.name(subject),
            "role": each.role,
            "resource": written(services, each.resource),
            "grantor": services.directory.name(each.grantor) if each.grantor else None,
            "ends": each.ends,
        }
        for subject, held in facts.assignments.items()
        for each in held.values()
        if subject == caller.principal or services.control.sees(caller, each.resource)
    ]


@router.post("/assignments", status_code=201)
def assign(body: NewAssignment, services: Uses, caller: By) -> dict[str, Any]:
    """Give a role."""
    place = resource(services, caller, body.resource)
    command = AssignRole(services.directory.subject(body.subject), body.role, place)
    return {"revision": services.control.execute(command, caller).revision}


@router.delete("/assignments")
def revoke(subject: str, role: str, resource_name: str, services: Uses, caller: By) -> dict[str, Any]:
    """Take a role back. Once this has returned, no decision allows by it."""
    place = resource(services, caller, resource_name)
    command = RevokeRole(services.directory.subject(subject), role, place)
    return {"revision": services.control.execute(command, caller).revision}
