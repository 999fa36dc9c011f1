"""The organization as Headgate's changes, below the organization of a new deployment."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.decision_engines.organization import Organization
from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.ports import DocumentPut
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
from headgate.facts.snapshot import Snapshot

_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True)
class Import:
    """A part of the organization as one entry of the log."""

    changes: Sequence[Change]
    documents: Sequence[DocumentPut] = ()
    name: str = "organization.import"

    def decide(self, view: CommandContext) -> CommandEffect:  # noqa: ARG002 - only the deployment itself imports
        """Return the part unchanged."""
        return CommandEffect(tuple(self.changes), tuple(self.documents))


def imports(organization: Organization, facts: Snapshot) -> Iterator[Import]:
    """Yield the parts of a new organization, names first. Layers are databases, pipelines are queries."""
    if facts.organization is None:
        raise LookupError("there is no organization yet")
    lake = next(each.id for each in facts.resources.values() if each.type == "lake")
    names = (*organization.users, *organization.groups)
    kinds = ("group" if name in organization.groups else "principal" for name in names)
    documents = [DocumentPut(kind, name, {"name": name}) for kind, name in zip(kinds, names, strict=True)]
    yield Import((), documents)
    changes = tuple(_changes(organization, facts.organization, lake, facts.model))
    yield from (Import(changes[start : start + _AT_ONCE]) for start in range(0, len(changes), _AT_ONCE))


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
