"""The snapshot: all facts of one organization at one revision, indexed for questions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from headgate.facts.changes import Edge, Relations
from headgate.facts.ids import GroupId, PrincipalId, ResourceId, RunId, SubjectId, TokenId


@dataclass(frozen=True, slots=True)
class Resource:
    """Anything access is decided on. The root is its own parent."""

    id: ResourceId
    type: str
    parent: ResourceId
    name: str
    creator: PrincipalId | None
    relations: Relations

    def edges(self, relation: str) -> tuple[Edge, ...]:
        """Return the enabled edges of a relation; none if there is no such relation."""
        return tuple(edge for edge in self.relations.get(relation, ()) if edge.enabled)


@dataclass(frozen=True, slots=True)
class Token:
    """A token acts as its principal until `ends` (seconds since the epoch)."""

    principal: PrincipalId
    ends: float | None


@dataclass(frozen=True, slots=True)
class Run:
    """A run that has not ended."""

    pipeline: ResourceId
    run_as: PrincipalId


@dataclass(frozen=True, slots=True)
class Assignment:
    """A subject holds a role on a resource, under a model, perhaps until an end."""

    subject: SubjectId
    role: str
    resource: ResourceId
    model: str
    grantor: PrincipalId | None
    ends: float | None


@dataclass(frozen=True, slots=True)
class Group:
    """A set of principals; a built-in one is kept by the system."""

    members: frozenset[PrincipalId]
    built_in: bool


Held = Mapping[tuple[str, ResourceId], Assignment]
"""What one subject was assigned, by role and resource."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Facts at one revision. Never changed in place: `fold.apply` returns the next one."""

    revision: int = 0
    organization: ResourceId | None = None
    model: str = ""
    model_hash: str = ""
    resources: Mapping[ResourceId, Resource] = field(default_factory=dict[ResourceId, Resource])
    children: Mapping[ResourceId, Mapping[str, ResourceId]] = field(
        default_factory=dict[ResourceId, Mapping[str, ResourceId]]
    )
    principals: Mapping[PrincipalId, str] = field(default_factory=dict[PrincipalId, str])
    groups: Mapping[GroupId, Group] = field(default_factory=dict[GroupId, Group])
    assignments: Mapping[SubjectId, Held] = field(default_factory=dict[SubjectId, Held])
    tokens: Mapping[TokenId, Token] = field(default_factory=dict[TokenId, Token])
    run_as: Mapping[ResourceId, PrincipalId] = field(default_factory=dict[ResourceId, PrincipalId])
    runs: Mapping[RunId, Run] = field(default_factory=dict[RunId, Run])

    def find(self, names: Sequence[str]) -> Resource | None:
        """Return the resource with this full name, lake first (`("lake", "raw", "flights")`), or None.

        Lakes lie in projects and their names are unique in the organization.
        """
        if not names or self.organization is None:
            return None
        for project in self.children.get(self.organization, {}).values():
            current = project
            for name in names:
                found = self.children.get(current, {}).get(name)
                if found is None:
                    break
                current = found
            else:
                return self.resources[current]
        return None

    def full_name(self, resource: ResourceId) -> tuple[str, ...]:
        """Return the name parts below the project, lake first; the plain name for anything above."""
        line = [self.resources[resource], *self.ancestors(resource)]
        names = tuple(each.name for each in reversed(line) if each.type not in ("organization", "project"))
        return names or (self.resources[resource].name,)

    def ancestors(self, resource: ResourceId) -> Iterator[Resource]:
        """Yield the parent, its parent, up to the root."""
        current = self.resources[resource]
        while current.parent != current.id:
            current = self.resources[current.parent]
            yield current

    def below(self, resource: ResourceId) -> Iterator[ResourceId]:
        """Yield every resource below this one, deepest first."""
        for child in self.children.get(resource, {}).values():
            yield from self.below(child)
            yield child

    def groups_of(self, principal: PrincipalId) -> Iterator[GroupId]:
        """Yield the groups that hold the principal."""
        return (id for id, group in self.groups.items() if principal in group.members)
