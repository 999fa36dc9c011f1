"""People and service principals of the organization."""

from dataclasses import dataclass

from headgate.control.assignments import keep_an_owner, known_role
from headgate.control.command import InvalidError, Plan, View
from headgate.control.ports import DocumentPut
from headgate.decision.records import Question
from headgate.facts.changes import PrincipalAdded, PrincipalRemoved, RoleAssigned
from headgate.facts.ids import PrincipalId


@dataclass(frozen=True, slots=True)
class AddPrincipal:
    """Somebody new, with a role on the organization."""

    principal: PrincipalId
    kind: str
    person: str
    role: str
    name: str = "principal.add"

    def plan(self, view: View) -> Plan:
        """Need `organization.add_user` and the right to assign the role."""
        if self.kind not in ("user", "service_principal"):
            raise InvalidError(f"a principal is a `user` or a `service_principal`, not `{self.kind}`")
        view.require_action("organization.add_user", view.root)
        view.free_id(self.principal)
        known_role(view, self.role)
        added = PrincipalAdded(self.principal, self.kind)
        role = RoleAssigned(self.principal, self.role, view.root, view.model.name, view.actor)
        self._may_assign(view)
        return Plan((added, role), (DocumentPut("principal", self.principal, {"name": self.person}),))

    def _may_assign(self, view: View) -> None:
        if view.caller is None:
            return
        # Asked for the caller as subject: the newcomer is not in the facts yet, and is eligible by this very role.
        view.require(Question(view.caller, "assignment.add", view.root, role=self.role, subject=view.caller.principal))


@dataclass(frozen=True, slots=True)
class RemovePrincipal:
    """Somebody leaves; memberships, assignments and tokens end, and the name is erased."""

    principal: PrincipalId
    name: str = "principal.remove"

    def plan(self, view: View) -> Plan:
        """Need `organization.manage_users`; nobody removes themselves, and the last owner stays."""
        view.require_action("organization.manage_users", view.root)
        view.known_principal(self.principal)
        if view.caller and view.caller.principal == self.principal:
            raise InvalidError("nobody removes themselves; ask another admin")
        for role, place, _ in view.facts.assignments.get(self.principal, ()):
            if view.caller and place == view.root:
                view.require(Question(view.caller, "assignment.remove", place, role=role, subject=self.principal))
        keep_an_owner(view, self.principal)
        return Plan((PrincipalRemoved(self.principal),), (DocumentPut("principal", self.principal, None),))
