"""Groups that can be granted to."""

from dataclasses import dataclass, field

from headgate.control.access.last_owner import keep_a_ruler
from headgate.control.kernel.command import Plan, View
from headgate.control.kernel.display_names import usable_title
from headgate.control.kernel.errors import InvalidError
from headgate.control.kernel.ports import DocumentPut
from headgate.control.resources.implicit import makers
from headgate.facts.changes import Attributes, GroupCreated, GroupDeleted, MemberAdded, MemberRemoved
from headgate.facts.ids import GroupId, PrincipalId, ResourceId
from headgate.facts.snapshot import Resource

_TYPE = "group"


@dataclass(frozen=True, slots=True)
class CreateGroup:
    """A new, empty group. Only the deployment gives it attributes, such as who manages it."""

    group: GroupId
    title: str
    attributes: Attributes = field(default_factory=dict[str, tuple[str, ...]])
    name: str = "group.create"

    def plan(self, view: View) -> Plan:
        """Need `organization.create_group`; who makes it is assigned what the model gives to makers."""
        usable_title(view, self.title)
        view.require_action("organization.create_group", view.root)
        view.free_id(self.group)
        if view.caller is not None and self.attributes:
            raise InvalidError("what decides about a group, such as who manages it, the deployment says")
        place = ResourceId(self.group)
        given = makers(view, place, _TYPE, view.model_for(_TYPE, view.root))
        created = GroupCreated(self.group, attributes=self.attributes)
        return Plan((created, *given), (DocumentPut(_TYPE, self.group, {"name": self.title}),))


@dataclass(frozen=True, slots=True)
class RenameGroup:
    """The group gets another name. Facts know its id only, so that the name is a document."""

    group: GroupId
    title: str
    name: str = "group.rename"

    def plan(self, view: View) -> Plan:
        """Need `group.rename`, or to edit it where the model knows no such action."""
        usable_title(view, self.title)
        found = _group(view, self.group)
        view.require_action(view.action(found, "rename", "edit"), found.id)
        return Plan((), (DocumentPut(_TYPE, self.group, {"name": self.title}),))


@dataclass(frozen=True, slots=True)
class ChangeMembership:
    """Put a principal into a group, or take it out."""

    group: GroupId
    principal: PrincipalId
    member: bool
    name: str = "group.change_membership"

    def plan(self, view: View) -> Plan:
        """Need `group.add_member` or `group.remove_member`; somebody stays who rules the organization."""
        found = _group(view, self.group)
        verb, step = ("add_member", MemberAdded) if self.member else ("remove_member", MemberRemoved)
        view.require_action(f"{_TYPE}.{verb}", found.id, subject=self.principal)
        view.known_principal(self.principal)
        change = step(self.group, self.principal)
        keep_a_ruler(view, self.principal, change)
        return Plan((change,))


@dataclass(frozen=True, slots=True)
class DeleteGroup:
    """The group is gone, with what was assigned to it and on it."""

    group: GroupId
    name: str = "group.delete"

    def plan(self, view: View) -> Plan:
        """Need `group.delete`; somebody stays who rules the organization."""
        found = _group(view, self.group)
        view.require_action(f"{_TYPE}.delete", found.id)
        change = GroupDeleted(self.group)
        keep_a_ruler(view, self.group, change)
        return Plan((change,), (DocumentPut(_TYPE, self.group, None),))


def _group(view: View, id: GroupId) -> Resource:
    return view.target(ResourceId(id), _TYPE)
