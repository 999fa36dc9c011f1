"""Changes: the typed steps an organization's history consists of.

A change states what happened, with opaque ids only; it is never refused. Whether it may happen was
decided on the snapshot before it (`headgate.control`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from headgate.facts.ids import GroupId, PrincipalId, RequestId, ResourceId, RunId, SubjectId, TokenId


@dataclass(frozen=True, slots=True)
class Edge:
    """One end of a relation: the target, whether it counts, and the stream's name if it has one."""

    target: ResourceId
    enabled: bool = True
    name: str = ""


Relations = Mapping[str, tuple[Edge, ...]]

Attributes = Mapping[str, tuple[str, ...]]
"""What decides about a resource or principal besides its place: `kind`, `published_branches`, `domain` ...; words only."""


@dataclass(frozen=True, slots=True)
class OrganizationCreated:
    """The root resource exists, governed by the home model whose source has this hash.

    The log of the deployment itself begins with one of type `deployment`; organizations are resources below that.
    """

    organization: ResourceId
    model: str
    model_hash: str
    type: str = "organization"


@dataclass(frozen=True, slots=True)
class PrincipalAdded:
    """A user or service principal belongs to the organization from now on. The latter is a resource below it too."""

    principal: PrincipalId
    kind: str
    attributes: Attributes = field(default_factory=dict[str, tuple[str, ...]])


@dataclass(frozen=True, slots=True)
class PrincipalExpires:
    """The principal has no rights from `ends` on (seconds since the epoch; None = no end)."""

    principal: PrincipalId
    ends: float | None


@dataclass(frozen=True, slots=True)
class PrincipalRemoved:
    """The principal left: memberships, assignments, tokens and what was assigned on it end with it."""

    principal: PrincipalId


@dataclass(frozen=True, slots=True)
class GroupCreated:
    """A set of principals that can be granted to, and a resource below the organization.

    `built_in` marks the one that holds every user.
    """

    group: GroupId
    built_in: bool = False
    attributes: Attributes = field(default_factory=dict[str, tuple[str, ...]])


@dataclass(frozen=True, slots=True)
class GroupDeleted:
    """The group is gone, with everything that was assigned to it or on it."""

    group: GroupId


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
    """A token acts as its principal until it ends (seconds since the epoch; None = no end).

    `only` narrows it to what can be done by way of these resources, `actions` to these actions; None does not narrow.
    With a `parent` it is a resource there too, on which access can be decided.
    """

    token: TokenId
    principal: PrincipalId
    ends: float | None = None
    only: tuple[ResourceId, ...] | None = None
    actions: tuple[str, ...] | None = None
    parent: ResourceId | None = None


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
    attributes: Attributes = field(default_factory=dict[str, tuple[str, ...]])


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
class AttributesSet:
    """The resource's attributes are these and no others."""

    resource: ResourceId
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class SettingChanged:
    """A switch of the model has this value on this resource and below, until a nearer one says otherwise."""

    resource: ResourceId
    setting: str
    value: str


@dataclass(frozen=True, slots=True)
class GovernedBy:
    """The model whose source has this hash governs the project and what lies in it.

    On the organization itself: it governs the types of the tree that the home model does not know (DESIGN 2: the
    ownership tree under `datamesh`, next to any other model).
    """

    resource: ResourceId
    model: str
    model_hash: str


@dataclass(frozen=True, slots=True)
class CustomRoleDefined:
    """The organization has a role of its own under this name, which is the union of these roles of the model."""

    name: str
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CustomRoleDeleted:
    """There is no custom role of this name any more."""

    name: str


@dataclass(frozen=True, slots=True)
class AccessRequested:
    """Somebody asks for a consumer (a team or a user) to read what an output port serves."""

    access: ResourceId
    port: ResourceId
    consumer: SubjectId
    author: PrincipalId | None = None


@dataclass(frozen=True, slots=True)
class AccessApproved:
    """The agreement holds: the consumer is served while starts <= now < ends (seconds; None = no end)."""

    access: ResourceId
    starts: float
    ends: float | None


@dataclass(frozen=True, slots=True)
class AccessEnded:
    """A request was `rejected` or an agreement `terminated`: nobody is served by it any more."""

    access: ResourceId
    state: str


@dataclass(frozen=True, slots=True)
class AccessDeleted:
    """The request or agreement is gone."""

    access: ResourceId


@dataclass(frozen=True, slots=True)
class ChangeRequested:
    """Somebody files a change of a resource for approval."""

    request: ResourceId
    resource: ResourceId
    author: PrincipalId | None


@dataclass(frozen=True, slots=True)
class ChangeDecided:
    """The change request was `approved` or `rejected`."""

    request: ResourceId
    state: str


@dataclass(frozen=True, slots=True)
class RequestFiled:
    """Somebody asks to be allowed an action on a resource; None for a name under which there is nothing."""

    request: RequestId
    author: PrincipalId
    action: str
    resource: ResourceId | None


@dataclass(frozen=True, slots=True)
class RequestDecided:
    """The request was `approved`, by assignments that have it as their reason, or `rejected`."""

    request: RequestId
    state: str


@dataclass(frozen=True, slots=True)
class RunAsSet:
    """The pipeline's runs use the rights of this principal."""

    resource: ResourceId
    principal: PrincipalId


@dataclass(frozen=True, slots=True)
class RoleAssigned:
    """A subject holds a role on a resource while starts <= now < ends (seconds since the epoch; None = open).

    `reason` is the id of what it was made for: an access agreement, a request, a policy file; empty for none. The
    same role on the same resource for two reasons is two assignments.
    """

    subject: SubjectId
    role: str
    resource: ResourceId
    model: str
    grantor: PrincipalId | None = None
    ends: float | None = None
    starts: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RoleRevoked:
    """Exactly this assignment is gone."""

    subject: SubjectId
    role: str
    resource: ResourceId
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run of the pipeline exists; its identity has the run-as principal's rights on what is declared."""

    run: RunId
    pipeline: ResourceId
    run_as: PrincipalId


@dataclass(frozen=True, slots=True)
class RunEnded:
    """An attempt of the run is over, and the run's identity with it.

    State is `succeeded`, `failed`, `cancelled`, `refused` or `lost`: nothing was heard of it any more.
    """

    run: RunId
    state: str


Change = (
    OrganizationCreated
    | PrincipalAdded
    | PrincipalExpires
    | PrincipalRemoved
    | GroupCreated
    | GroupDeleted
    | MemberAdded
    | MemberRemoved
    | TokenIssued
    | TokenRevoked
    | ResourceCreated
    | ResourceRenamed
    | ResourceDeleted
    | RelationsSet
    | AttributesSet
    | SettingChanged
    | GovernedBy
    | CustomRoleDefined
    | CustomRoleDeleted
    | AccessRequested
    | AccessApproved
    | AccessEnded
    | AccessDeleted
    | ChangeRequested
    | ChangeDecided
    | RequestFiled
    | RequestDecided
    | RunAsSet
    | RoleAssigned
    | RoleRevoked
    | RunStarted
    | RunEnded
)
