"""A generated organization: one resource of each type of a model, and one holder of each role on each type."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from headgate.control.access.assignments import AssignRole
from headgate.control.approvals.agreements import AddAccess, RequestAccess
from headgate.control.identity.groups import ChangeMembership, CreateGroup
from headgate.control.kernel.errors import CommandError
from headgate.control.resources.commands import CreateResource
from headgate.facts.changes import Edge
from headgate.facts.ids import GroupId, PrincipalId, ResourceId
from headgate.model.model import Model, Role
from tests.app.deployment_harness import OrganizationClient

APART = ("group", "service_principal", "token", "access", "change_request", "organization", "deployment")
"""Types whose resources need a command of their own."""
SOMEBODY = "somebody"
"""A member of the organization and of its group, as the subject of requests."""
OTHER = "other"
"""A member of the organization who is not in the group."""


@dataclass(frozen=True)
class Scene:
    """The organization, one resource of each type, and the holder of each role on each type of resource."""

    place: OrganizationClient
    model: Model
    things: Mapping[str, ResourceId]
    holders: Mapping[str, PrincipalId]

    @property
    def pairs(self) -> Iterator[tuple[str, ResourceId]]:
        """Yield each type that is created as a plain resource, with the id of its resource."""
        for type, id in self.things.items():
            if type not in APART:
                yield type, id


def scene(place: OrganizationClient, model: Model) -> Scene:
    """Create one resource of each type, and one holder of each role on each type."""
    things = _things(place, model)
    holders = {name: place.caller(name).principal for name in ("owner", SOMEBODY)}
    for role in model.roles.values():
        for type in sorted(role.on & things.keys()):
            name = f"{role.name}-of-{type}"
            found = _holder(place, role, name, things[type])
            if found is not None:
                holders[name] = found
    return Scene(place, model, things, holders)


def _things(place: OrganizationClient, model: Model) -> dict[str, ResourceId]:
    control, found = place.control, {each.type: each.id for each in place.control.snapshot.resources.values()}
    somebody, _ = place.add(SOMEBODY), place.add(OTHER)
    found.pop("group", None)
    if "group" in model.types:
        control.execute(CreateGroup(GroupId("crew"), "crew"), None)
        control.execute(ChangeMembership(GroupId("crew"), somebody, member=True), None)
        found["group"] = ResourceId("crew")
    place.program("program")
    found["service_principal"] = ResourceId(place.caller("program").principal)
    left = [each for each in model.types.values() if each.name not in (*found, *APART)]
    while left:
        type = next(each for each in left if any(parent in found for parent in each.parents))
        parent = next(found[each] for each in type.parents if each in found)
        owner = {"owner": (Edge(found["team"]),)} if "team" in found and "team" not in type.name else {}
        _make(place, type.name, parent, owner)
        found[type.name] = ResourceId(type.name)
        left.remove(type)
    if "output_port" in found:
        _agreements(place, found["output_port"])
    return found


def _agreements(place: OrganizationClient, port: ResourceId) -> None:
    consumer = place.caller(SOMEBODY).principal
    place.control.execute(RequestAccess(ResourceId("asked"), port, consumer, "to read", consumer), None)
    place.control.execute(AddAccess(ResourceId("agreed"), port, consumer, "to read", place.control.now), None)


def _make(place: OrganizationClient, type: str, parent: ResourceId, relations: Mapping[str, tuple[Edge, ...]]) -> None:
    place.control.execute(CreateResource(ResourceId(type), type, parent, f"the_{type}", dict(relations)), None)


def _holder(place: OrganizationClient, role: Role, name: str, on: ResourceId) -> PrincipalId | None:
    """Return a new user or service principal with a role on a resource; None if neither can hold it."""
    try:
        found = place.add(name) if "user" in role.to else place.program(name)
        place.control.execute(AssignRole(found, role.name, on), None)
    except CommandError:
        return None
    return found
