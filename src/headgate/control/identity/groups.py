"""Groups: sets of principals to which roles can be assigned."""

from dataclasses import dataclass, field

from headgate.control.access.last_owner import require_remaining_owner
from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.display_names import require_display_name
from headgate.control.kernel.errors import InvalidError
from headgate.control.kernel.operations import AssignmentWords, OperationPlace
from headgate.control.kernel.ports import DocumentPut
from headgate.control.resources.implicit import creator_assignments
from headgate.facts.changes import Attributes, GroupCreated, GroupDeleted, MemberAdded, MemberRemoved
from headgate.facts.ids import GroupId, PrincipalId, ResourceId
from headgate.facts.snapshot import Resource

_TYPE = "group"


@dataclass(frozen=True, slots=True)
class CreateGroup:
    """Create an empty group. Only the deployment may set attributes, such as the directory that manages the group."""

    group: GroupId
    title: str
    attributes: Attributes = field(default_factory=dict[str, tuple[str, ...]])
    name: str = "group.create"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `organization.create_group`. The creator is assigned the roles that the model gives to creators."""
        require_display_name(view, self.title)
        view.require_operation(self.name, {"organization": view.facts.resources[view.root]})
        view.free_id(self.group)
        if view.caller is not None and self.attributes:
            raise InvalidError(
                "the attributes of a group, such as its manager, are set by Headgate itself; leave `attributes` out"
            )
        place = ResourceId(self.group)
        given = creator_assignments(view, place, _TYPE, view.root, view.model_for(_TYPE, view.root))
        created = GroupCreated(self.group, attributes=self.attributes)
        return CommandEffect((created, *given), (DocumentPut(_TYPE, self.group, {"name": self.title}),))


@dataclass(frozen=True, slots=True)
class RenameGroup:
    """Rename a group. The facts have only its id; the name is a document."""

    group: GroupId
    title: str
    name: str = "group.rename"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `group.rename`, or `group.edit` if the model does not have that action."""
        require_display_name(view, self.title)
        found = _group(view, self.group)
        view.require_operation(self.name, {"group": found})
        return CommandEffect((), (DocumentPut(_TYPE, self.group, {"name": self.title}),))


@dataclass(frozen=True, slots=True)
class ChangeMembership:
    """Add a principal to a group, or remove it."""

    group: GroupId
    principal: PrincipalId
    member: bool
    name: str = "group.change_membership"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `group.add_member` or `group.remove_member`; the last owner cannot be removed."""
        found = _group(view, self.group)
        verb, step = ("add_member", MemberAdded) if self.member else ("remove_member", MemberRemoved)
        place = OperationPlace(found, about=AssignmentWords(subject=self.principal))
        view.require_operation(self.name, {"group": place}, verb=verb)
        view.require_principal(self.principal)
        change = step(self.group, self.principal)
        require_remaining_owner(view, self.principal, change)
        return CommandEffect((change,))


@dataclass(frozen=True, slots=True)
class DeleteGroup:
    """Delete a group, with the assignments to it and on it."""

    group: GroupId
    name: str = "group.delete"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `group.delete`; the last owner cannot be removed."""
        found = _group(view, self.group)
        view.require_operation(self.name, {"group": found})
        change = GroupDeleted(self.group)
        require_remaining_owner(view, self.group, change)
        return CommandEffect((change,), (DocumentPut(_TYPE, self.group, None),))


def _group(view: CommandContext, id: GroupId) -> Resource:
    return view.target(ResourceId(id), _TYPE)
