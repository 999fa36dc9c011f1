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
        view.known_subject(self.subject)
        known_role(view, self.role)
        if view.caller:
            question = Question(view.caller, "assignment.add", self.resource, role=self.role, subject=self.subject)
            view.require(question)
        if self.ends is not None and self.ends <= view.now:
            raise InvalidError("the assignment would have ended already")
        if self.ends is not None and _is_ownership(view, self.role, self.resource):
            keep_an_owner(view, self.subject)
        return Plan((RoleAssigned(self.subject, self.role, self.resource, view.model.name, view.actor, self.ends),))


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
        known_role(view, self.role)
        if view.caller:
            view.require(
                Question(view.caller, "assignment.remove", self.resource, role=self.role, subject=self.subject)
            )
        if (self.role, self.resource, "") not in view.facts.assignments.get(self.subject, ()):
            raise MissingError(f"`{self.subject}` does not hold `{self.role}` on `{self.resource}`")
        if _is_ownership(view, self.role, self.resource):
            keep_an_owner(view, self.subject)
        return Plan((RoleRevoked(self.subject, self.role, self.resource),))


def keep_an_owner(view: View, leaving: SubjectId) -> None:
    """Raise `InvalidError` if nobody but this subject owns the organization without an end."""
    there = view.facts.assigned_on(view.root)
    owners = {each.subject for each in there if each.role == "owner" and each.ends is None}
    if owners == {leaving}:
        raise InvalidError("one owner always stays; make somebody else an owner first")


def known_role(view: View, role: str) -> None:
    """Raise `InvalidError` for a role that the model does not have."""
    if role not in view.model.roles:
        names = ", ".join(sorted(view.model.roles))
        raise InvalidError(f"the model `{view.model.name}` has no role `{role}`; it has {names}")


def _is_ownership(view: View, role: str, resource: ResourceId) -> bool:
    return role == "owner" and resource == view.root
