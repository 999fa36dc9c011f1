"""Questions and their answers. A decision is a record, never a bare bool."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId, SubjectId


@dataclass(frozen=True, slots=True)
class Question:
    """May the caller do this action on this resource?

    `on` names the resources that an action on several resources also concerns (`inputs`, `cluster`);
    `given` holds its other parameters as words (`kind`, `purpose`, `scope`). `role` is the role that an
    assignment is about, `subject` whom it is for; with `new_role` the role is to be replaced by that one.
    """

    caller: Caller
    action: str
    resource: ResourceId
    on: Mapping[str, tuple[ResourceId, ...]] = field(default_factory=dict[str, tuple[ResourceId, ...]])
    role: str | None = None
    subject: SubjectId | None = None
    new_role: str | None = None
    given: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


@dataclass(frozen=True, slots=True)
class GrantPath:
    """One way in which a role reaches a resource: an assignment, and where it acts from.

    `weakest` is the resource that decided where the role is derived from several. `reason` is what the assignment was made
    for. A path by a relation that names the principal has that resource as `assigned_on`.
    """

    role: str
    subject: SubjectId
    assigned_role: str
    assigned_on: ResourceId
    weakest: ResourceId | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class DenyReason:
    """What a refused question lacked: a stable code and, where it is about a role, the roles that would do, and where.

    Codes: `no-principal`, `no-token`, `no-run`, `suspended`, `not-declared`, `no-resource`, `unknown-action`, `no-role`,
    `condition` (`what` is it, as a model writes it: `requested`, `setting.plan is not starter`),
    `no-subject`, `not-assignable`, `not-grantor`, `narrowed`.
    """

    code: str
    resource: ResourceId | None = None
    roles: tuple[str, ...] = ()
    what: str = ""


class Decision(NamedTuple):
    """Allow or deny, with the model in force and the revision it was taken at, and what determined it.

    `paths` are all the ways that allow, `missing` what a deny lacks. The engine leaves both empty, so that a
    check stays cheap; the decision names its question, and `explain` fills them in.
    """

    allowed: bool
    revision: int
    model: str
    question: Question
    paths: tuple[GrantPath, ...] = ()
    missing: DenyReason | None = None


@dataclass(frozen=True, slots=True)
class RequiredAssignment:
    """One assignment to make, and who could make it."""

    role: str
    resource: ResourceId
    approvers: tuple[PrincipalId, ...]


@dataclass(frozen=True, slots=True)
class Fix:
    """Assignments for the subject that together, and none of them without the others, turn a deny into an allow."""

    subject: SubjectId
    assignments: tuple[RequiredAssignment, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """A decision, whether the caller may know the resource, and the smallest assignments that would fix a deny."""

    decision: Decision
    discoverable: bool
    fixes: tuple[Fix, ...] = ()
