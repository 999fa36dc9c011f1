"""Changes: the typed events that make up an organization's history (event sourcing).

A change states what happened, with opaque ids only; it is never refused. `headgate.control` decided, on the snapshot
before it, whether it was allowed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from headgate.facts.ids import GroupId, PrincipalId, RequestId, ResourceId, RunId, SubjectId, TokenId


@dataclass(frozen=True, slots=True)
class Edge:
    """One edge of a relation: the target, whether it is enabled, and the name of its stream, if any."""

    target: ResourceId
    enabled: bool = True
    name: str = ""


Relations = Mapping[str, tuple[Edge, ...]]

Attributes = Mapping[str, tuple[str, ...]]
"""Attributes of a resource or principal that decisions use: `kind`, `published_branches`, `domain` ...; words only."""


@dataclass(frozen=True, slots=True)
class OrganizationCreated:
    """The root resource was created; its home model is the one whose source has this hash.

    The log of the deployment itself begins with a root of type `deployment`; organizations are resources below it.
    """

    organization: ResourceId
    model: str
    model_hash: str
    type: str = "organization"


PRINCIPAL_KINDS = ("user", "service_principal")
"""The kinds of principals."""


@dataclass(frozen=True, slots=True)
class PrincipalAdded:
    """A user or service principal joined the organization. A service principal is also a resource below it."""

    principal: PrincipalId
    kind: str
    attributes: Attributes = field(default_factory=dict[str, tuple[str, ...]])


@dataclass(frozen=True, slots=True)
class PrincipalExpires:
    """The principal expires at `ends` (seconds since the epoch; None = never) and has no privileges from then on."""

    principal: PrincipalId
    ends: float | None


@dataclass(frozen=True, slots=True)
class PrincipalRemoved:
    """The principal was removed, with its memberships, assignments, tokens, and all assignments on it."""

    principal: PrincipalId


@dataclass(frozen=True, slots=True)
class GroupCreated:
    """A group was created: a set of principals to which roles can be assigned, and a resource below the organization.

    `built_in` marks the group that holds every user.
    """

    group: GroupId
    built_in: bool = False
    attributes: Attributes = field(default_factory=dict[str, tuple[str, ...]])


@dataclass(frozen=True, slots=True)
class GroupDeleted:
    """The group was deleted, with all assignments to it and on it."""

    group: GroupId


@dataclass(frozen=True, slots=True)
class MemberAdded:
    """A principal was added to the group."""

    group: GroupId
    principal: PrincipalId


@dataclass(frozen=True, slots=True)
class MemberRemoved:
    """A principal was removed from the group."""

    group: GroupId
    principal: PrincipalId


@dataclass(frozen=True, slots=True)
class TokenIssued:
    """A token was issued that acts as its principal until `ends` (seconds since the epoch; None = no end).

    `only` narrows it to what a holder of every role on these resources could do, `actions` to these actions; None does
    not narrow. With a `parent` it is also a resource below that, on which access can be decided. `acts_in` is the team in
    which its principal acts.
    """

    token: TokenId
    principal: PrincipalId
    ends: float | None = None
    only: tuple[ResourceId, ...] | None = None
    actions: tuple[str, ...] | None = None
    parent: ResourceId | None = None
    acts_in: ResourceId | None = None


@dataclass(frozen=True, slots=True)
class TokenRevoked:
    """The token was revoked."""

    token: TokenId


@dataclass(frozen=True, slots=True)
class ResourceCreated:
    """A resource was created under its parent, with its relations."""

    resource: ResourceId
    type: str
    parent: ResourceId
    name: str
    creator: PrincipalId | None = None
    relations: Relations = field(default_factory=dict[str, tuple[Edge, ...]])
    attributes: Attributes = field(default_factory=dict[str, tuple[str, ...]])


@dataclass(frozen=True, slots=True)
class ResourceRenamed:
    """The resource was renamed, and perhaps moved to another parent. Assignments remain, as they refer to its id."""

    resource: ResourceId
    parent: ResourceId
    name: str


@dataclass(frozen=True, slots=True)
class ResourceDeleted:
    """The resource and everything below it were deleted, with every assignment on them."""

    resource: ResourceId


@dataclass(frozen=True, slots=True)
class RelationsSet:
    """The resource's relations were replaced by these."""

    resource: ResourceId
    relations: Relations


@dataclass(frozen=True, slots=True)
class AttributesSet:
    """The resource's attributes were replaced by these."""

    resource: ResourceId
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class SettingChanged:
    """A setting of the model was set on this resource; the value applies below it, except where a nearer one is set."""

    resource: ResourceId
    setting: str
    value: str


@dataclass(frozen=True, slots=True)
class GovernedBy:
    """The model whose source has this hash governs the project and everything in it from now on.

    On the organization itself, the model governs the types of the tree that the home model does not have (DESIGN 2: the
    ownership tree). Wherever else a model of this name decides, it decides in this version, too.
    """

    resource: ResourceId
    model: str
    model_hash: str


@dataclass(frozen=True, slots=True)
class HomeModelChanged:
    """The model whose source has this hash is the home model from now on."""

    model: str
    model_hash: str


@dataclass(frozen=True, slots=True)
class ModelUpgraded:
    """Wherever the model of this name decides in the organization, the version whose source has this hash decides from now on.

    The version may be an earlier one: an upgrade is undone this way.
    """

    model: str
    model_hash: str


@dataclass(frozen=True, slots=True)
class ModelInstalled:
    """In the log of the deployment: organizations can choose the model from now on, in the version whose source has this hash.

    A `shipped` model came with Headgate, and the next version of Headgate may replace it.
    """

    model: str
    model_hash: str
    version: int
    shipped: bool = False


@dataclass(frozen=True, slots=True)
class ModelRemoved:
    """In the log of the deployment: organizations cannot choose the model any more."""

    model: str


@dataclass(frozen=True, slots=True)
class CustomRoleDefined:
    """The organization defined a custom role of this name: the union of these roles of the model."""

    name: str
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CustomRoleDeleted:
    """The custom role of this name was deleted."""

    name: str


@dataclass(frozen=True, slots=True)
class AccessRequested:
    """A user requested that a consumer (a team or a user) may read what an output port serves."""

    access: ResourceId
    port: ResourceId
    consumer: SubjectId
    author: PrincipalId | None = None


@dataclass(frozen=True, slots=True)
class AccessApproved:
    """The agreement was approved: the consumer has access while starts <= now < ends (seconds; None = no end)."""

    access: ResourceId
    starts: float
    ends: float | None


@dataclass(frozen=True, slots=True)
class AccessEnded:
    """A request was `rejected` or an agreement `terminated`: it no longer gives access to any consumer."""

    access: ResourceId
    state: str


@dataclass(frozen=True, slots=True)
class AccessDeleted:
    """The request or agreement was deleted."""

    access: ResourceId


@dataclass(frozen=True, slots=True)
class ChangeRequested:
    """A user filed a change of a resource for approval."""

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
    """A user requested access: an action on a resource; None if no resource has the requested name."""

    request: RequestId
    author: PrincipalId
    action: str
    resource: ResourceId | None


@dataclass(frozen=True, slots=True)
class RequestDecided:
    """The request was `approved`, with assignments that have it as their reason, or `rejected`."""

    request: RequestId
    state: str


@dataclass(frozen=True, slots=True)
class RunAsSet:
    """The pipeline's runs use the privileges of this principal from now on."""

    resource: ResourceId
    principal: PrincipalId


@dataclass(frozen=True, slots=True)
class RoleAssigned:
    """A role on a resource was assigned to a subject while starts <= now < ends (seconds since the epoch; None = open).

    `reason` is the id of the access agreement, request or policy file for which it was made; empty if there is none.
    The same role on the same resource for two reasons is two assignments.
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
    """Exactly this assignment was revoked."""

    subject: SubjectId
    role: str
    resource: ResourceId
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run of the pipeline started; its identity has the run-as principal's privileges on what the pipeline declares."""

    run: RunId
    pipeline: ResourceId
    run_as: PrincipalId


@dataclass(frozen=True, slots=True)
class RunEnded:
    """An attempt of the run finished, and with it the run's identity.

    The state is `succeeded`, `failed`, `cancelled`, `refused` or `lost` (its worker no longer reports).
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
    | HomeModelChanged
    | ModelUpgraded
    | ModelInstalled
    | ModelRemoved
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
