"""Questions and their answers. A decision is a record, never a bare bool."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId, SubjectId


@dataclass(frozen=True, slots=True)
class Question:
    """May the caller do this action on this resource?

    `on` names the resources that an action on several resources also concerns (`inputs`,
    `output_layers`); `role` is the role that an assignment is about, `subject` whom it is for.
    """

    caller: Caller
    action: str
    resource: ResourceId
    on: Mapping[str, tuple[ResourceId, ...]] = field(default_factory=dict[str, tuple[ResourceId, ...]])
    role: str | None = None
    subject: SubjectId | None = None


@dataclass(frozen=True, slots=True)
class Path:
    """One way in which a role reaches a resource: an assignment, and where it acts from.

    `weakest` is the resource that decided where the role is derived from several.
    """

    role: str
    subject: SubjectId
    assigned_role: str
    assigned_on: ResourceId
    weakest: ResourceId | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """Allow or deny, with what determined it, the model in force and the revision it was taken at.

    `paths` are the assignments that allow; `missing` says what a deny lacks: a stable code and, where it
    is about a role, the roles that would do and the resource they are needed on.
    """

    allowed: bool
    revision: int
    model: str
    paths: tuple[Path, ...] = ()
    missing: "Missing | None" = None


@dataclass(frozen=True, slots=True)
class Missing:
    """What a refused question lacked.

    Codes: `no-principal`, `no-token`, `no-run`, `not-declared`, `no-resource`, `unknown-action`, `no-role`,
    `no-subject`, `not-assignable`, `not-grantor`.
    """

    code: str
    resource: ResourceId | None = None
    roles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Needed:
    """One assignment to make, and who could make it."""

    role: str
    resource: ResourceId
    approvers: tuple[PrincipalId, ...]


@dataclass(frozen=True, slots=True)
class Fix:
    """Assignments for the subject that together, and none of them without the others, turn a deny into an allow."""

    subject: SubjectId
    assignments: tuple[Needed, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """A decision, whether the caller may know the resource, and the smallest assignments that would fix a deny."""

    decision: Decision
    discoverable: bool
    fixes: tuple[Fix, ...] = ()
