"""Changes: the typed steps an organization's history consists of.

A change states what happened, with opaque ids only; it is never refused. Whether it may happen was
decided on the snapshot before it (`headgate.control`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from headgate.facts.ids import GroupId, PrincipalId, ResourceId, RunId, SubjectId, TokenId


@dataclass(frozen=True, slots=True)
class Edge:
    """One end of a relation: the target, whether it counts, and the stream's name if it has one."""

    target: ResourceId
    enabled: bool = True
    name: str = ""


Relations = Mapping[str, tuple[Edge, ...]]


@dataclass(frozen=True, slots=True)
class OrganizationCreated:
    """The root resource exists, governed by the home model whose source has this hash."""

    organization: ResourceId
    model: str
    model_hash: str


@dataclass(frozen=True, slots=True)
class PrincipalAdded:
    """A user or service principal belongs to the organization from now on."""

    principal: PrincipalId
    kind: str


@dataclass(frozen=True, slots=True)
class PrincipalRemoved:
    """The principal left: memberships, assignments and tokens end with it."""

    principal: PrincipalId


@dataclass(frozen=True, slots=True)
class GroupCreated:
    """A set of principals that can be granted to. `built_in` marks the one that holds every user."""

    group: GroupId
    built_in: bool = False


@dataclass(frozen=True, slots=True)
class MemberAdded:
    """A principal is in the group."""

    group: GroupId
    principal: PrincipalId


@dataclass(frozen=True, slots=True)
class MemberRemoved:
    """A principal is no longer in the group."""

    group: GroupId
    principal: PrincipalId


@dataclass(frozen=True, slots=True)
class TokenIssued:
    """A token acts as its principal until it ends (seconds since the epoch; None = no end)."""

    token: TokenId
    principal: PrincipalId
    ends: float | None = None


@dataclass(frozen=True, slots=True)
class TokenRevoked:
    """The token is dead."""

    token: TokenId


@dataclass(frozen=True, slots=True)
class ResourceCreated:
    """A resource exists under its parent, with its relations."""

    resource: ResourceId
    type: str
    parent: ResourceId
    name: str
    creator: PrincipalId | None = None
    relations: Relations = field(default_factory=dict[str, tuple[Edge, ...]])


@dataclass(frozen=True, slots=True)
class ResourceRenamed:
    """The resource has another name, and perhaps another parent. Assignments stay with its id."""

    resource: ResourceId
    parent: ResourceId
    name: str


@dataclass(frozen=True, slots=True)
class ResourceDeleted:
    """The resource and everything below it is gone, and every assignment on them."""

    resource: ResourceId


@dataclass(frozen=True, slots=True)
class RelationsSet:
    """The resource's relations are these and no others."""

    resource: ResourceId
    relations: Relations


@dataclass(frozen=True, slots=True)
class RunAsSet:
    """The pipeline's runs use the rights of this principal."""

    resource: ResourceId
    principal: PrincipalId


@dataclass(frozen=True, slots=True)
class RoleAssigned:
    """A subject holds a role on a resource. `ends` in seconds since the epoch; None = no end."""

    subject: SubjectId
    role: str
    resource: ResourceId
    model: str
    grantor: PrincipalId | None = None
    ends: float | None = None


@dataclass(frozen=True, slots=True)
class RoleRevoked:
    """Exactly this assignment is gone."""

    subject: SubjectId
    role: str
    resource: ResourceId


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run of the pipeline exists; its identity has the run-as principal's rights on what is declared."""

    run: RunId
    pipeline: ResourceId
    run_as: PrincipalId


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The run and its identity are over. State is `succeeded`, `failed` or `cancelled`."""

    run: RunId
    state: str


Change = (
    OrganizationCreated
    | PrincipalAdded
    | PrincipalRemoved
    | GroupCreated
    | MemberAdded
    | MemberRemoved
    | TokenIssued
    | TokenRevoked
    | ResourceCreated
    | ResourceRenamed
    | ResourceDeleted
    | RelationsSet
    | RunAsSet
    | RoleAssigned
    | RoleRevoked
    | RunStarted
    | RunEnded
)
