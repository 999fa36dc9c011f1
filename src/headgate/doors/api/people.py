"""Users and service principals."""

from operator import itemgetter
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, StringConstraints

from headgate.control.command import TakenError
from headgate.control.ids import new_id
from headgate.control.principals import AddPrincipal, CreateServicePrincipal, RemovePrincipal
from headgate.decision.records import Question
from headgate.doors.api.names import Text, require
from headgate.doors.problems import ProblemError
from headgate.doors.services import By, Uses
from headgate.facts.ids import PrincipalId

router = APIRouter(tags=["people"])

PersonName = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[\w.@+-]+$")]


class NewPerson(BaseModel):
    """Somebody to add."""

    name: PersonName
    role: Text = "member"
    kind: Literal["user", "service_principal"] = "user"


@router.get("/people")
def list_people(services: Uses, caller: By) -> list[dict[str, Any]]:
    """Everybody, for who manages users; oneself for anybody else."""
    facts = services.control.snapshot
    root = facts.organization
    everybody = root is not None and services.control.ask(Question(caller, "organization.manage_users", root)).allowed
    shown = [id for id in facts.principals if everybody or id == caller.principal]
    people = [
        {
            "name": services.directory.name(id),
            "kind": facts.principals[id].kind,
            "roles": sorted({role for role, place, _ in facts.assignments.get(id, ()) if place == root}),
        }
        for id in shown
    ]
    return sorted(people, key=itemgetter("name"))


@router.post("/people", status_code=201)
def add_person(body: NewPerson, services: Uses, caller: By) -> dict[str, Any]:
    """Add a user or service principal with a role on the organization."""
    service = body.kind == "service_principal"
    require(services, caller, "organization.create_service_principal" if service else "organization.add_user")
    if not services.directory.is_free(body.name):
        raise TakenError(f"there is a `{body.name}` already")
    principal = PrincipalId(new_id("p"))
    if body.role not in services.control.model.roles:
        raise ProblemError(422, "invalid", f"the model has no role `{body.role}`")
    new = CreateServicePrincipal if service else AddPrincipal
    after = services.control.execute(new(principal, body.name, body.role), caller)
    return {"name": body.name, "principal": principal, "revision": after.revision}


@router.delete("/people/{name}")
def remove_person(name: str, services: Uses, caller: By) -> dict[str, Any]:
    """Somebody leaves: memberships, assignments and tokens end."""
    require(services, caller, "organization.manage_users")
    after = services.control.execute(RemovePrincipal(services.directory.principal(name)), caller)
    return {"revision": after.revision}
