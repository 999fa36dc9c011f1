"""Breaking the glass: the deployment makes somebody a founder of an organization for a short time, for all to see."""

from dataclasses import dataclass

from headgate.control.authentication.settings import DAY
from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.errors import InvalidError
from headgate.control.kernel.ports import DocumentPut
from headgate.control.organizations.commands import founder_role
from headgate.facts.changes import PrincipalAdded, RoleAssigned
from headgate.facts.ids import PrincipalId, SubjectId
from headgate.facts.snapshot import Key, Snapshot

REASON = "break-glass"
LONGEST = DAY
"""Seconds that it lasts at most."""


@dataclass(frozen=True, slots=True)
class BreakGlass:
    """The user has the founders' role until `ends` (seconds since the epoch), in the organization or not before."""

    principal: PrincipalId
    person: str
    ends: float
    name: str = "organization.break_glass"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Only the deployment, and not for long."""
        if view.caller is not None:
            raise InvalidError("the glass is broken on the deployment's own machine")
        if not view.now < self.ends <= view.now + LONGEST:
            raise InvalidError(f"broken glass is mended again within {LONGEST / 3600:g} hours")
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
    """Return until when the glass of an organization is broken (seconds since the epoch), or None if it is whole."""
    return active_until(facts, break_glass_events(facts), now)


Broken = tuple[tuple[SubjectId, Key], ...]
"""Whose assignments on an organization broke its glass, and which."""


def break_glass_events(facts: Snapshot) -> Broken:
    """Return what broke the glass, now or before. It is the same as long as `facts.subjects` of the organization is."""
    there = facts.assignments_on.get(facts.organization) if facts.organization else None
    return tuple((subject, key) for subject, keys in (there or {}).items() for key in keys if key[2] == REASON)


def active_until(facts: Snapshot, broke: Broken, now: float) -> float | None:
    """Return the last end of those of them that hold now."""
    held = [facts.assignments[subject][key] for subject, key in broke]
    return max((each.ends for each in held if each.ends is not None and each.holds_at(now)), default=None)
