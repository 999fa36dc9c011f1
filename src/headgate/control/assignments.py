"""Giving and taking roles."""

from dataclasses import dataclass

from headgate.control.command import InvalidError, MissingError, Plan, View
from headgate.decision.records import Question
from headgate.facts.changes import RoleAssigned, RoleRevoked
from headgate.facts.ids import ResourceId, SubjectId


@dataclass(frozen=True, slots=True)
class AssignRole:
    """A subject holds a role on a resource from now on."""

    subject: SubjectId
    role: str
    resource: ResourceId
    ends: float | None = None
    name: str = "role.assign"

    def plan(self, view: View) -> Plan:
        """Need the right to assign this role there, and a subject that is eligible."""
        view.resource(self.resource)
        view.subject(self.subject)
        _known_role(view, self.role)
        if view.caller:
            question = Question(
                view.caller, "assignment.add", self.resource, role=self.role, subject=self.subject
            )
            view.require(question)
        grantor = view.caller.principal if view.caller else None
        return Plan((RoleAssigned(self.subject, self.role, self.resource, view.model.name, grantor, self.ends),))


@dataclass(frozen=True, slots=True)
class RevokeRole:
    """Take exactly this assignment back."""

    subject: SubjectId
    role: str
    resource: ResourceId
    name: str = "role.revoke"

    def plan(self, view: View) -> Plan:
        """Need the right to remove this role there; the last owner of the organization stays."""
        view.resource(self.resource)
        _known_role(view, self.role)
        if view.caller:
            view.require(
                Question(view.caller, "assignment.remove", self.resource, role=self.role, subject=self.subject)
            )
        if (self.role, self.resource) not in view.facts.assignments.get(self.subject, {}):
            raise MissingError(f"`{self.subject}` does not hold `{self.role}` on `{self.resource}`")
        if self._is_last(view):
            raise InvalidError("one owner always stays; make somebody else an owner first")
        return Plan((RoleRevoked(self.subject, self.role, self.resource),))

    def _is_last(self, view: View) -> bool:
        holders = [held for held in view.facts.assignments.values() if (self.role, self.resource) in held]
        return self.role == "owner" and self.resource == view.root and len(holders) == 1


def _known_role(view: View, role: str) -> None:
    if role not in view.model.roles:
        names = ", ".join(sorted(view.model.roles))
        raise InvalidError(f"the model `{view.model.name}` has no role `{role}`; it has {names}")
