"""Groups that can be granted to."""

from dataclasses import dataclass

from headgate.control.command import InvalidError, MissingError, Plan, TakenError, View
from headgate.control.ports import DocumentPut
from headgate.facts.changes import GroupCreated, MemberAdded, MemberRemoved
from headgate.facts.ids import GroupId, PrincipalId


@dataclass(frozen=True, slots=True)
class CreateGroup:
    """A new, empty group."""

    group: GroupId
    title: str
    name: str = "group.create"

    def plan(self, view: View) -> Plan:
        """Need `organization.manage_users`."""
        view.require_action("organization.manage_users", view.root)
        if self.group in view.facts.groups:
            raise TakenError(f"there is a group `{self.group}` already")
        return Plan((GroupCreated(self.group),), (DocumentPut("group", self.group, {"name": self.title}),))


@dataclass(frozen=True, slots=True)
class ChangeMembership:
    """Put a principal into a group, or take it out."""

    group: GroupId
    principal: PrincipalId
    member: bool
    name: str = "group.change_membership"

    def plan(self, view: View) -> Plan:
        """Need `organization.manage_users`; the built-in group cannot be changed."""
        view.require_action("organization.manage_users", view.root)
        group = view.facts.groups.get(self.group)
        if group is None:
            raise MissingError(f"there is no group `{self.group}`")
        if self.principal not in view.facts.principals:
            raise MissingError(f"there is no principal `{self.principal}`")
        if group.built_in:
            raise InvalidError(f"`{self.group}` holds everybody and is kept by the system")
        step = MemberAdded if self.member else MemberRemoved
        return Plan((step(self.group, self.principal),))
