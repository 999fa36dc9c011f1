"""Groups that can be granted to."""

from dataclasses import dataclass, field

from headgate.control.access.last_owner import require_remaining_owner
from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.display_names import require_display_name
from headgate.control.kernel.errors import InvalidError
from headgate.control.kernel.ports import DocumentPut
from headgate.control.resources.implicit import creator_assignments
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

    def decide(self, view: CommandContext) -> CommandEffect:
        """Need `organization.create_group`; who makes it is assigned what the model gives to makers."""
        require_display_name(view, self.title)
        view.require_action("organization.create_group", view.root)
        view.free_id(self.group)
        if view.caller is not None and self.attributes:
            raise InvalidError("what decides about a group, such as who manages it, the deployment says")
        place = ResourceId(self.group)
        given = creator_assignments(view, place, _TYPE, view.model_for(_TYPE, view.root))
        created = GroupCreated(self.group, attributes=self.attributes)
        return CommandEffect((created, *given), (DocumentPut(_TYPE, self.group, {"name": self.title}),))


@dataclass(frozen=True, slots=True)
class RenameGroup:
    """The group gets another name. Facts know its id only, so that the name is a document."""

    group: GroupId
    title: str
    name: str = "group.rename"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Need `group.rename`, or to edit it where the model knows no such action."""
        require_display_name(view, self.title)
        found = _group(view, self.group)
        view.require_action(view.action(found, "rename", "edit"), found.id)
        return CommandEffect((), (DocumentPut(_TYPE, self.group, {"name": self.title}),))


@dataclass(frozen=True, slots=True)
class ChangeMembership:
    """Put a principal into a group, or take it out."""

    group: GroupId
    principal: PrincipalId
    member: bool
    name: str = "group.change_membership"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Need `group.add_member` or `group.remove_member`; somebody stays who rules the organization."""
        found = _group(view, self.group)
        verb, step = ("add_member", MemberAdded) if self.member else ("remove_member", MemberRemoved)
        view.require_action(f"{_TYPE}.{verb}", found.id, subject=self.principal)
        view.require_principal(self.principal)
        change = step(self.group, self.principal)
        require_remaining_owner(view, self.principal, change)
        return CommandEffect((change,))


@dataclass(frozen=True, slots=True)
class DeleteGroup:
    """The group is gone, with what was assigned to it and on it."""

    group: GroupId
    name: str = "group.delete"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Need `group.delete`; somebody stays who rules the organization."""
        found = _group(view, self.group)
        view.require_action(f"{_TYPE}.delete", found.id)
        change = GroupDeleted(self.group)
        require_remaining_owner(view, self.group, change)
        return CommandEffect((change,), (DocumentPut(_TYPE, self.group, None),))


def _group(view: CommandContext, id: GroupId) -> Resource:
    return view.target(ResourceId(id), _TYPE)
