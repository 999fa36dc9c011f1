"""Groups that can be granted to."""

from dataclasses import dataclass

from headgate.control.command import InvalidError, MissingError, Plan, View
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
        view.free_id(self.group)
        return Plan((GroupCreated(self.group),), (DocumentPut("group", self.group, {"name": self.title}),))


@dataclass(frozen=True, slots=True)
class RenameGroup:
    """The group gets another name. Facts know its id only, so that the name is a document."""

    group: GroupId
    title: str
    name: str = "group.rename"

    def plan(self, view: View) -> Plan:
        """Need `organization.manage_users`; the built-in group cannot be changed."""
        _changeable(view, self.group)
        return Plan((), (DocumentPut("group", self.group, {"name": self.title}),))


@dataclass(frozen=True, slots=True)
class ChangeMembership:
    """Put a principal into a group, or take it out."""

    group: GroupId
    principal: PrincipalId
    member: bool
    name: str = "group.change_membership"

    def plan(self, view: View) -> Plan:
        """Need `organization.manage_users`; the built-in group cannot be changed."""
        _changeable(view, self.group)
        view.known_principal(self.principal)
        step = MemberAdded if self.member else MemberRemoved
        return Plan((step(self.group, self.principal),))


def _changeable(view: View, id: GroupId) -> None:
    view.require_action("organization.manage_users", view.root)
    group = view.facts.groups.get(id)
    if group is None:
        raise MissingError(f"there is no group `{id}`")
    if group.built_in:
        raise InvalidError(f"`{id}` holds everybody and is kept by the system")
