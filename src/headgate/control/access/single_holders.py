"""Roles with a single holder on a resource (`single`): an assignment transfers the role from its holder."""

from collections.abc import Iterator

from headgate.control.kernel.command import CommandContext
from headgate.control.kernel.errors import InvalidError
from headgate.control.kernel.operations import AssignmentWords, OperationPlace
from headgate.facts.changes import RoleAssigned, RoleRevoked
from headgate.facts.snapshot import Resource
from headgate.model.model import Model


def is_single(model: Model, role: str) -> bool:
    """Whether a role of the model has a single holder; a custom role has not."""
    return role in model.roles and model.roles[role].single


def take_from_holder(view: CommandContext, place: Resource, given: RoleAssigned) -> Iterator[RoleRevoked]:
    """Yield the revocations that a new assignment of a role with a single holder needs; the caller may have to remove it there.

    Raises `InvalidError` for an assignment with dates: between them, the resource would have no holder, or two.
    """
    if not is_single(view.models[given.model], given.role):
        return
    if given.starts is not None or given.ends is not None:
        raise InvalidError(
            f"`{given.role}` has at most one holder on a resource, so its assignment has no start and no end; leave the "
            "dates out"
        )
    for held in view.facts.list_assigned_on(place.id):
        # Another assignment to the same subject, for another reason, would stay after a revoke.
        is_same = (held.subject, held.reason) == (given.subject, given.reason)
        if (held.role, held.model) == (given.role, given.model) and not is_same:
            about = AssignmentWords(held.role, held.subject)
            view.require_operation("role.revoke", {"resource": OperationPlace(place, about=about)})
            yield RoleRevoked(held.subject, held.role, place.id, held.reason)


def require_several_holders(model: Model, role: str) -> None:
    """Raise `InvalidError` for a role with a single holder, where the assignment cannot take it from that holder."""
    if is_single(model, role):
        raise InvalidError(
            f"`{role}` has a single holder on a resource, and only an assignment to an existing subject takes it from that "
            "holder; assign it in a step of its own"
        )
