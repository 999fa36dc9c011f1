"""Is it up, and who am I."""

from operator import itemgetter
from typing import Any

from fastapi import APIRouter

from headgate.doors.api.names import written
from headgate.doors.api.routing import own, public
from headgate.doors.services import By, Everything, Uses
from headgate.facts.snapshot import NOTHING_HELD

router = APIRouter(tags=["status"])


@router.get("/health", **public("whether the API and Spark answer, and nothing about any organization"))
def health(deployed: Everything) -> dict[str, Any]:
    """Public: whether the API and Spark answer. Tells nothing about the organization."""
    return dict(deployed.health())


@router.get("/me", **own("says who the caller is"))
def me(services: Uses, caller: By) -> dict[str, Any]:
    """The caller's name and direct assignments."""
    facts = services.control.snapshot
    held = facts.assignments.get(caller.principal, NOTHING_HELD).values()
    roles = [{"role": each.role, "resource": written(services, each.resource)} for each in held]
    return {
        "name": services.directory.name(caller.principal),
        "principal": caller.principal,
        "roles": sorted(roles, key=itemgetter("resource", "role")),
        "groups": sorted(services.directory.name(each) for each in facts.groups_of(caller.principal)),
        "revision": facts.revision,
    }
