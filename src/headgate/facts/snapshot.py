"""The snapshot: all facts of one organization at one revision, indexed for decisions.

Its maps are persistent data structures: the next snapshot shares all parts that the change did not touch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from immutables import Map

from headgate.facts.assigned_subjects import AssignedSubjects, Key
from headgate.facts.changes import Attributes, Edge, Relations
from headgate.facts.ids import GroupId, PrincipalId, RequestId, ResourceId, RunId, SubjectId, TokenId


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource: anything on which access is decided. The root is its own parent."""

    id: ResourceId
    type: str
    parent: ResourceId
    name: str
    creator: PrincipalId | None
    relations: Relations
    attributes: Attributes = field(default_factory=dict[str, tuple[str, ...]])

    def edges(self, relation: str) -> tuple[Edge, ...]:
        """Return the enabled edges of a relation; empty if there is no such relation."""
        return tuple(edge for edge in self.relations.get(relation, ()) if edge.enabled)


@dataclass(frozen=True, slots=True)
class Principal:
    """A `user` or `service_principal`, which expires at `ends` (seconds since the epoch; None = never)."""

    kind: str
    ends: float | None = None
    attributes: Attributes = field(default_factory=dict[str, tuple[str, ...]])


@dataclass(frozen=True, slots=True)
class Token:
    """A token: acts as its principal until `ends`, narrowed to `only` and `actions` where these are not None.

    `acts_in` is the team in which the principal acts; an access model says for which actions that matters (`acting`).
    """

    principal: PrincipalId
    ends: float | None
    only: tuple[ResourceId, ...] | None = None
    actions: tuple[str, ...] | None = None
    acts_in: ResourceId | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """A run that has not finished."""

    pipeline: ResourceId
    run_as: PrincipalId


@dataclass(frozen=True, slots=True)
class Assignment:
    """A role of a model, assigned to a subject on a resource while starts <= now < ends, with or without a reason."""

    subject: SubjectId
    role: str
    resource: ResourceId
    model: str
    grantor: PrincipalId | None
    ends: float | None
    starts: float | None = None
    reason: str = ""

    def holds_at(self, now: float) -> bool:
        """Whether the time is within the assignment's dates."""
        return (self.starts is None or self.starts <= now) and (self.ends is None or now < self.ends)


@dataclass(frozen=True, slots=True)
class Group:
    """A set of principals; the system maintains a built-in one."""

    members: frozenset[PrincipalId]
    built_in: bool


@dataclass(frozen=True, slots=True)
class Agreement:
    """An access request or agreement. `state` is requested, approved, rejected or terminated."""

    port: ResourceId
    consumer: SubjectId
    author: PrincipalId | None
    state: str
    starts: float | None = None
    ends: float | None = None


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """A change filed for approval. `state` is requested, approved or rejected."""

    resource: ResourceId
    author: PrincipalId | None
    state: str


@dataclass(frozen=True, slots=True)
class AccessRequest:
    """A user's request for an action on a resource. `state` is requested, approved or rejected."""

    author: PrincipalId
    action: str
    resource: ResourceId | None
    state: str


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """An access model that organizations can choose: the hashes and numbers of its installed versions, the current one last.

    A model that `is_shipped` came with Headgate. One that `is_removed` cannot be chosen, and the next version of Headgate
    does not install it again.
    """

    versions: tuple[str, ...]
    numbers: tuple[int, ...]
    is_shipped: bool
    is_removed: bool = False

    @property
    def hash(self) -> str:
        """The hash of the source of the current version."""
        return self.versions[-1]


AssignmentIndex = Map[Key, Assignment]
"""The assignments of one subject."""

NameIndex = Map[str, ResourceId]
"""Child resources by name."""

SUSPENDED = "suspended"
"""The attribute of an organization's own resource while the organization is suspended."""

NO_NAMES: NameIndex = Map()
NO_SUBJECTS = AssignedSubjects(Map())
NOTHING_HELD: AssignmentIndex = Map()
NO_GROUPS: frozenset[GroupId] = frozenset()
NO_SETTINGS: Map[str, str] = Map()
"""Empty values for missing entries; created once, as some are used very often."""


class Snapshot(NamedTuple):
    """Facts at one revision. Never changed in place: `fold.apply` returns the next one.

    `governs` names the model of each project and of the organization's ownership tree; `model` is the home model.
    `model_hashes` has the version of each model that decides, or decided once, in the organization: the hash of its source.
    `installed_models` are those of the deployment, in its own log. Four fields are indexes over the others: `assignments_on` has the subjects, and their assignments, by resource;
    `memberships` the groups of a principal; `referrers` the resources with a relation to a resource; `actors_of` the
    tokens and pipelines that act as a principal. In these, and in `assignments`, an empty value has no entry.
    """

    revision: int = 0
    organization: ResourceId | None = None
    model: str = ""
    model_hashes: Map[str, str] = Map()
    installed_models: Map[str, InstalledModel] = Map()
    governs: Map[ResourceId, str] = Map()
    resources: Map[ResourceId, Resource] = Map()
    children: Map[ResourceId, NameIndex] = Map()
    referrers: Map[ResourceId, frozenset[ResourceId]] = Map()
    settings: Map[ResourceId, Map[str, str]] = Map()
    principals: Map[PrincipalId, Principal] = Map()
    groups: Map[GroupId, Group] = Map()
    memberships: Map[PrincipalId, frozenset[GroupId]] = Map()
    assignments: Map[SubjectId, AssignmentIndex] = Map()
    assignments_on: Map[ResourceId, AssignedSubjects] = Map()
    custom_roles: Map[str, frozenset[str]] = Map()
    agreements: Map[ResourceId, Agreement] = Map()
    change_requests: Map[ResourceId, ChangeRequest] = Map()
    requests: Map[RequestId, AccessRequest] = Map()
    tokens: Map[TokenId, Token] = Map()
    actors_of: Map[PrincipalId, frozenset[TokenId | ResourceId]] = Map()
    run_as: Map[ResourceId, PrincipalId] = Map()
    runs: Map[RunId, Run] = Map()

    @property
    def model_hash(self) -> str:
        """The hash of the source of the home model; empty before the organization is created."""
        return self.model_hashes.get(self.model, "")

    @property
    def models_in_force(self) -> frozenset[str]:
        """The names of the models that decide in the organization: the home model, the ownership tree's and those of projects."""
        return frozenset((self.model, *self.governs.values())) - {""}

    @property
    def is_suspended(self) -> bool:
        """Whether the operator of the deployment has suspended the organization: no caller may act in it until it is resumed."""
        root = self.resources.get(self.organization) if self.organization is not None else None
        return root is not None and SUSPENDED in root.attributes

    def find(self, names: Sequence[str]) -> Resource | None:
        """Return the resource with this full name, lake first (`("lake", "raw", "flights")`), or None.

        Lakes are in projects, and their names are unique in the organization.
        """
        if not names or self.organization is None:
            return None
        for child in self.children.get(self.organization, NO_NAMES).values():
            if self.resources[child].type != "project":
                continue
            current = child
            for name in names:
                found = self.children.get(current, NO_NAMES).get(name)
                if found is None:
                    break
                current = found
            else:
                return self.resources[current]
        return None

    def full_name(self, resource: ResourceId) -> tuple[str, ...]:
        """Return the parts of the name below the project, lake first; for a resource above that, its own name."""
        line = [self.resources[resource], *self.ancestors(resource)]
        names = tuple(each.name for each in reversed(line) if each.type not in ("organization", "project"))
        return names or (self.resources[resource].name,)

    def ancestors(self, resource: ResourceId) -> Iterator[Resource]:
        """Yield the parent, its parent, and so on up to the root."""
        current = self.resources[resource]
        while current.parent != current.id:
            current = self.resources[current.parent]
            yield current

    def list_below(self, resource: ResourceId) -> Iterator[ResourceId]:
        """Yield every resource below this one, deepest first."""
        for child in self.children.get(resource, NO_NAMES).values():
            yield from self.list_below(child)
            yield child

    def list_assigned_on(self, resource: ResourceId) -> Iterator[Assignment]:
        """Yield every assignment on the resource itself."""
        for subject, keys in self.assignments_on.get(resource, NO_SUBJECTS).items():
            yield from (self.assignments[subject][key] for key in keys)

    def groups_of(self, principal: PrincipalId) -> frozenset[GroupId]:
        """Return the groups of which the principal is a member."""
        return self.memberships.get(principal, NO_GROUPS)

    def find_governing_models(self, resource: ResourceId) -> tuple[str, str | None]:
        """Return the model of the resource's project (the home model if it has none), and that of the ownership tree."""
        root = self.organization
        line = (resource, *(each.id for each in self.ancestors(resource)))
        own = next((self.governs[id] for id in line if id != root and id in self.governs), self.model)
        return own, self.governs.get(root) if root else None

    def setting(self, resource: ResourceId, name: str) -> str | None:
        """Return a setting's value on the resource or its nearest ancestor that has one; None if none has."""
        return next(iter(self.list_settings(resource, name)), None)

    def list_settings(self, resource: ResourceId, name: str) -> tuple[str, ...]:
        """Return a setting's values on the resource and its ancestors that have one, nearest first."""
        line = (resource, *(each.id for each in self.ancestors(resource)))
        return tuple(self.settings[id][name] for id in line if name in self.settings.get(id, NO_SETTINGS))
