"""Break-glass access: the deployment gives a user the founder role of an organization for a short time, visible to all members."""

from dataclasses import dataclass

from headgate.control.authentication.settings import DAY
from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.errors import InvalidError
from headgate.control.kernel.ports import DocumentPut
from headgate.control.organizations.commands import founder_role
from headgate.facts.assigned_subjects import Key
from headgate.facts.changes import PrincipalAdded, RoleAssigned
from headgate.facts.ids import PrincipalId, SubjectId
from headgate.facts.snapshot import NO_SUBJECTS, Snapshot

REASON = "break-glass"
LONGEST = DAY
"""The maximum duration in seconds."""


@dataclass(frozen=True, slots=True)
class BreakGlass:
    """Assign the founder role to a user until `ends` (seconds since the epoch); the user need not be a member before."""

    principal: PrincipalId
    person: str
    ends: float
    name: str = "organization.break_glass"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require that the deployment itself does it, for at most `LONGEST` seconds."""
        if view.caller is not None:
            raise InvalidError(
                "break-glass access can be granted only on the server's machine; ask the operator to run `headgate "
                "break-glass grant`"
            )
        if self.ends <= view.now:
            raise InvalidError("the end of the break-glass access is in the past; choose a later end")
        if self.ends > view.now + LONGEST:
            raise InvalidError(f"break-glass access may last at most {LONGEST / 3600:g} hours; choose an earlier end")
        role = founder_role(view.model)
        given = RoleAssigned(
            self.principal, role, view.root, view.model.name, grantor=None, ends=self.ends, reason=REASON
        )
        if self.principal in view.facts.principals:
            return CommandEffect((given,))
        view.free_id(self.principal)
        document = DocumentPut("principal", self.principal, {"name": self.person})
        return CommandEffect((PrincipalAdded(self.principal, "user"), given), (document,))


def break_glass_until(facts: Snapshot, now: float) -> float | None:
    """Return the end of the active break-glass access of an organization (seconds since the epoch), or None."""
    return active_until(facts, break_glass_events(facts), now)


Broken = tuple[tuple[SubjectId, Key], ...]
"""The break-glass assignments of an organization: subject and key."""


def break_glass_events(facts: Snapshot) -> Broken:
    """Return all break-glass assignments, active or not. The result changes only with the assignments on the organization."""
    there = facts.assignments_on.get(facts.organization, NO_SUBJECTS) if facts.organization else NO_SUBJECTS
    return tuple((subject, key) for subject, keys in there.items() for key in keys if key[2] == REASON)


def active_until(facts: Snapshot, broke: Broken, now: float) -> float | None:
    """Return the latest end of those assignments that are active now, or None."""
    held = [facts.assignments[subject][key] for subject, key in broke]
    return max((each.ends for each in held if each.ends is not None and each.holds_at(now)), default=None)
