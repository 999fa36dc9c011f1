"""Who holds which role where."""

from operator import itemgetter
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from headgate.control.assignments import AssignRole, RevokeRole
from headgate.control.command import InvalidError
from headgate.decision.records import Question
from headgate.doors.api.names import Text, resource, written
from headgate.doors.services import By, Services, Uses
from headgate.facts.ids import SubjectId

router = APIRouter(tags=["assignments"])


class NewAssignment(BaseModel):
    """A role on a resource, for a person or group by name."""

    subject: Text
    role: Text
    resource: Text


@router.get("/assignments")
def list_assignments(services: Uses, caller: By) -> list[dict[str, Any]]:
    """Every assignment on resources that the caller may see."""
    facts = services.control.snapshot
    assignments = [
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
    return sorted(assignments, key=itemgetter("subject", "resource", "role"))


@router.post("/assignments", status_code=201)
def assign(body: NewAssignment, services: Uses, caller: By) -> dict[str, Any]:
    """Give a role."""
    place = resource(services, caller, body.resource)
    may = Question(caller, "assignment.add", place, role=body.role, subject=caller.principal)
    command = AssignRole(_subject(services, may, body.subject), body.role, place)
    return {"revision": services.control.execute(command, caller).revision}


@router.delete("/assignments")
def revoke(subject: str, role: str, resource_name: str, services: Uses, caller: By) -> dict[str, Any]:
    """Take a role back. Once this has returned, no decision allows by it."""
    place = resource(services, caller, resource_name)
    may = Question(caller, "assignment.remove", place, role=role, subject=caller.principal)
    command = RevokeRole(_subject(services, may, subject), role, place)
    return {"revision": services.control.execute(command, caller).revision}


def _subject(services: Services, may: Question, name: str) -> SubjectId:
    """Return whom a name means, to somebody who may give or take this role there: who is here is not for everybody."""
    if may.role not in services.control.model.roles:
        raise InvalidError(f"the model has no role `{may.role}`")
    services.control.require(may)
    return services.directory.subject(name)
