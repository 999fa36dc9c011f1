"""Breaking the glass: the deployment makes somebody a founder of an organization for a short time, for all to see."""

from dataclasses import dataclass

from headgate.control.command import InvalidError, Plan, View
from headgate.control.logins.settings import DAY
from headgate.control.organizations import of_founders
from headgate.control.ports import DocumentPut
from headgate.facts.changes import PrincipalAdded, RoleAssigned
from headgate.facts.ids import PrincipalId
from headgate.facts.snapshot import Snapshot

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

    def plan(self, view: View) -> Plan:
        """Only the deployment, and not for long."""
        if view.caller is not None:
            raise InvalidError("the glass is broken on the deployment's own machine")
        if not view.now < self.ends <= view.now + LONGEST:
            raise InvalidError(f"broken glass is mended again within {LONGEST / 3600:g} hours")
        role = of_founders(view.model)
        given = RoleAssigned(
            self.principal, role, view.root, view.model.name, grantor=None, ends=self.ends, reason=REASON
        )
        if self.principal in view.facts.principals:
            return Plan((given,))
        view.free_id(self.principal)
        document = DocumentPut("principal", self.principal, {"name": self.person})
        return Plan((PrincipalAdded(self.principal, "user"), given), (document,))


def break_glass(facts: Snapshot, now: float) -> float | None:
    """Return until when the glass of an organization is broken (seconds since the epoch), or None if it is whole."""
    if facts.organization is None:
        return None
    held = facts.assigned_on(facts.organization)
    ends = (each.ends for each in held if each.reason == REASON and each.holds_at(now))
    return max((each for each in ends if each is not None), default=None)
