"""The organization as Headgate's changes, below the organization that a new deployment has."""

from collections.abc import Iterator
from dataclasses import dataclass

from bench.decision_engines.organization import Organization
from headgate.control.command import Plan, View
from headgate.control.ports import DocumentPut
from headgate.facts.changes import (
    Change,
    Edge,
    GroupCreated,
    MemberAdded,
    PrincipalAdded,
    ResourceCreated,
    RoleAssigned,
)
from headgate.facts.ids import GroupId, PrincipalId, ResourceId


@dataclass(frozen=True, slots=True)
class Import:
    """Everything of the organization as one entry of the log: layers are databases, pipelines are queries."""

    organization: Organization
    name: str = "organization.import"

    def plan(self, view: View) -> Plan:
        """Only the deployment itself imports."""
        lake = next(each.id for each in view.facts.resources.values() if each.type == "lake")
        names = (*self.organization.users, *self.organization.groups)
        kinds = ("group" if name in self.organization.groups else "principal" for name in names)
        documents = (DocumentPut(kind, name, {"name": name}) for kind, name in zip(kinds, names, strict=True))
        return Plan(tuple(_changes(self.organization, view.root, lake, view.model.name)), tuple(documents))


def _changes(organization: Organization, root: ResourceId, lake: ResourceId, model: str) -> Iterator[Change]:
    for user in map(PrincipalId, organization.users):
        yield PrincipalAdded(user, "user")
        yield RoleAssigned(user, "member", root, model)
    for group, members in organization.groups.items():
        yield GroupCreated(GroupId(group))
        yield from (MemberAdded(GroupId(group), PrincipalId(member)) for member in members)
    for layer in organization.layers:
        yield ResourceCreated(ResourceId(layer), "database", lake, layer)
    for table, layer in organization.layer_of.items():
        yield ResourceCreated(ResourceId(table), "table", ResourceId(layer), table)
    project = ResourceId(lake.rpartition("/")[0])
    yield from (_pipeline(organization, name, project) for name in organization.pipelines)
    for grant in organization.grants:
        yield RoleAssigned(PrincipalId(grant.subject), grant.level, ResourceId(grant.place), model)


def _pipeline(organization: Organization, name: str, project: ResourceId) -> Change:
    written, *read = (Edge(ResourceId(edge.table), edge.enabled) for edge in organization.pipelines[name])
    layer = Edge(ResourceId(organization.layer_of[written.target]))
    relations = {"outputs": (written,), "inputs": tuple(read), "output_layers": (layer,)}
    return ResourceCreated(ResourceId(name), "query", project, name, None, relations)
