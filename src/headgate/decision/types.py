"""Questions and decisions. A decision is a record, never a bare bool."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from headgate.facts.caller import Caller
from headgate.facts.ids import GroupId, PrincipalId, ResourceId, SubjectId


@dataclass(frozen=True, slots=True)
class Question:
    """A question: may the caller perform this action on this resource?

    `on` names further resources that the action concerns (`inputs`, `cluster`); `given` has its other parameters as
    words (`kind`, `purpose`, `scope`). For a question about an assignment, `role` is its role and `subject` its
    subject; with `new_role`, the role is to be replaced by that role.
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
    """One path by which a role reaches a resource: an assignment, and the resource on which it was made.

    If the role is derived from several resources, `weakest` is the one that decided. `reason` is the id of the
    agreement, request or policy file for which the assignment was made. For a path by a relation that names the
    principal, `assigned_on` is the resource with the relation.
    """

    role: str
    subject: SubjectId
    assigned_role: str
    assigned_on: ResourceId
    weakest: ResourceId | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class DenyReason:
    """The reason of a denial: a stable code and, if a role is missing, the roles of which one suffices, and the resource.

    For `no-role` in an explanation, `what` is `acting` or `acting without membership` if only the team
    counted in which the caller's token acts.

    Codes: `no-principal`, `no-token`, `no-run`, `suspended`, `not-declared`, `no-resource`, `unknown-action`, `no-role`,
    `condition` (`what` is the condition as a model states it: `requested`, `setting.plan is not starter`),
    `no-subject`, `not-assignable`, `not-grantor`, `narrowed`.
    """

    code: str
    resource: ResourceId | None = None
    roles: tuple[str, ...] = ()
    what: str = ""


class Decision(NamedTuple):
    """A decision, allow or deny, with the home model, the revision and the question, and its reasons.

    `paths` are all paths that allow it, `missing` is the reason of a denial. The engine leaves both empty to keep a
    check cheap; `explain` adds them for the same question.
    """

    allowed: bool
    revision: int
    model: str
    question: Question
    paths: tuple[GrantPath, ...] = ()
    missing: DenyReason | None = None


@dataclass(frozen=True, slots=True)
class RequiredAssignment:
    """One assignment that a fix requires, and the users who may make it. `subject` is None for the subject of the fix."""

    role: str
    resource: ResourceId
    approvers: tuple[PrincipalId, ...]
    subject: SubjectId | None = None


@dataclass(frozen=True, slots=True)
class RequiredMembership:
    """One group that the caller has to join for a fix, and the users who may add members to the group."""

    group: GroupId
    approvers: tuple[PrincipalId, ...]


@dataclass(frozen=True, slots=True)
class Fix:
    """A fix: changes that turn a denial into an allow, all together and none without the others.

    They are assignments to the subject: the caller, or a group or team of the caller; and memberships of the caller.
    """

    subject: SubjectId
    assignments: tuple[RequiredAssignment, ...]
    memberships: tuple[RequiredMembership, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """A decision, whether the caller may know that the resource exists, and the smallest fixes of a denial."""

    decision: Decision
    discoverable: bool
    fixes: tuple[Fix, ...] = ()
