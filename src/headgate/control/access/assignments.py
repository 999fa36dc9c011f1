"""Role assignments: assigning, revoking and changing roles."""

from dataclasses import dataclass

from headgate.control.access.last_owner import require_remaining_owner
from headgate.control.access.single_holders import require_several_holders, take_from_holder
from headgate.control.kernel.command import CommandContext, CommandEffect, resolve_role_model
from headgate.control.kernel.errors import AlreadyExistsError, InvalidError, NotFoundError
from headgate.control.kernel.operations import AssignmentWords, OperationPlace
from headgate.decision.tree import subject_kind
from headgate.decision.types import Question
from headgate.facts.changes import RoleAssigned, RoleRevoked
from headgate.facts.ids import ResourceId, SubjectId
from headgate.facts.snapshot import Assignment, Resource


@dataclass(frozen=True, slots=True)
class AssignRole:
    """Assign a role on a resource to a subject, from `starts` until `ends` (seconds since the epoch; None = now, no end).

    `reason` is the id of the request or agreement for which the assignment is made. The assignment replaces one with the
    same reason. The role belongs to the model that decides on the resource; only the deployment can name another `model`.
    """

    subject: SubjectId
    role: str
    resource: ResourceId
    ends: float | None = None
    starts: float | None = None
    reason: str = ""
    model: str | None = None
    name: str = "role.assign"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require the privilege to add this role, and, if the change shortens an existing assignment, to remove it."""
        place = view.target(self.resource)
        self._require_subject(view, place.id)
        model = resolve_role_model(view, self.role, place, self.model)
        about = OperationPlace(place, about=AssignmentWords(self.role, self.subject))
        view.require_operation(self.name, {"resource": about})
        if self.ends is not None and self.ends <= view.now:
            raise InvalidError("the end of the assignment is in the past; choose a later end")
        if self.ends is not None and self.starts is not None and self.ends <= self.starts:
            raise InvalidError("the end of the assignment is not after its start; choose a later end")
        old = _find_assignment(view, self.subject, self.role, place.id, self.reason)
        if old is not None and self._cuts(old, view.now):
            view.require_operation("role.shorten", {"resource": about})
        given = RoleAssigned(self.subject, self.role, place.id, model, view.actor, self.ends, self.starts, self.reason)
        taken = tuple(take_from_holder(view, place, given))
        for subject in (self.subject, *(each.subject for each in taken)):
            require_remaining_owner(view, subject, *taken, given)
        return CommandEffect((*taken, given))

    def _require_subject(self, view: CommandContext, place: ResourceId) -> None:
        """Raise `NotFoundError` for a subject that is missing, or hidden from a caller that may not assign the role to it.

        A caller that may assign the role need not see the subject: it may know the subject from elsewhere.
        """
        try:
            view.require_visible_subject(self.subject)
        except NotFoundError:
            if view.caller is None:
                raise
            about = Question(view.caller, "assignment.add", place, role=self.role, subject=self.subject)
            if not view.engine.check(about, view.now).allowed:
                raise

    def _cuts(self, old: Assignment, now: float) -> bool:
        later = self.starts is not None and self.starts > max(now, old.starts or now)
        return later or (self.ends is not None and (old.ends is None or self.ends < old.ends))


@dataclass(frozen=True, slots=True)
class RevokeRole:
    """Revoke exactly this assignment."""

    subject: SubjectId
    role: str
    resource: ResourceId
    reason: str = ""
    name: str = "role.revoke"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require the privilege to remove this role; the last owner cannot be removed."""
        place = view.target(self.resource)
        self._require_removal(view, place)
        _require_assignment(view, self.subject, self.role, place.id, self.reason)
        taken = RoleRevoked(self.subject, self.role, place.id, self.reason)
        require_remaining_owner(view, self.subject, taken)
        return CommandEffect((taken,))

    def _require_removal(self, view: CommandContext, place: Resource) -> None:
        """Require the privilege to remove the role; for a dormant assignment instead, to remove every role of such a subject.

        A dormant assignment has no effect: its role or model does not decide here any more. It would have one again under the
        former model. Where no role can be assigned, the roles of the organization count.
        """
        needed = [(place, self.role)]
        caller = view.caller
        if caller is not None and self._is_dormant(view, place):
            root = view.facts.resources[view.root]
            every = _list_assignable(view, place, self.subject) or _list_assignable(view, root, self.subject)
            questions = [
                Question(caller, "assignment.remove", each.id, role=role, subject=self.subject) for each, role in every
            ]
            if every and all(view.engine.check(each, view.now).allowed for each in questions):
                needed = every
        for each, role in needed:
            about = OperationPlace(each, about=AssignmentWords(role, self.subject))
            view.require_operation(self.name, {"resource": about})

    def _is_dormant(self, view: CommandContext, place: Resource) -> bool:
        held = _find_assignment(view, self.subject, self.role, place.id, self.reason)
        model = view.model_for(place.type, place.id)
        is_live = (place, self.role) in _list_assignable(view, place, self.subject)
        return held is not None and (held.model != model.name or not (is_live or self.role in view.facts.custom_roles))


def _list_assignable(view: CommandContext, place: Resource, subject: SubjectId) -> list[tuple[Resource, str]]:
    """Return the roles that this kind of subject can be assigned on a resource, each with the resource."""
    kind, model = subject_kind(view.facts, subject), view.model_for(place.type, place.id)
    return [(place, each.name) for each in model.roles.values() if place.type in each.on and kind in each.to]


@dataclass(frozen=True, slots=True)
class ChangeRole:
    """Replace a subject's role on a resource by another role; the dates and the reason stay."""

    subject: SubjectId
    role: str
    new_role: str
    resource: ResourceId
    reason: str = ""
    name: str = "role.change"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require the privilege to change the one role into the other; the last owner cannot be removed."""
        place = view.target(self.resource)
        model = resolve_role_model(view, self.new_role, place)
        require_several_holders(view.models[model], self.new_role)
        about = OperationPlace(place, about=AssignmentWords(self.role, self.subject, self.new_role))
        view.require_operation(self.name, {"resource": about})
        old = _require_assignment(view, self.subject, self.role, place.id, self.reason)
        if _find_assignment(view, self.subject, self.new_role, place.id, self.reason) is not None:
            raise AlreadyExistsError(
                f"the subject holds `{self.new_role}` on the resource already; revoke its assignment of `{self.role}` "
                "instead of changing it"
            )
        changes = (
            RoleRevoked(self.subject, self.role, place.id, self.reason),
            RoleAssigned(self.subject, self.new_role, place.id, model, view.actor, old.ends, old.starts, self.reason),
        )
        require_remaining_owner(view, self.subject, *changes)
        return CommandEffect(changes)


def _find_assignment(
    view: CommandContext, subject: SubjectId, role: str, place: ResourceId, reason: str
) -> Assignment | None:
    held = view.facts.assignments.get(subject)
    return held.get((role, place, reason)) if held else None


def _require_assignment(
    view: CommandContext, subject: SubjectId, role: str, place: ResourceId, reason: str
) -> Assignment:
    found = _find_assignment(view, subject, role, place, reason)
    if found is None:
        other = [each for held, on, each in view.facts.assignments.get(subject, ()) if (held, on) == (role, place)]
        if any(other):
            raise NotFoundError(
                f"the assignment of `{role}` on the resource has the reason `{max(other)}`; name it too (`reason` in the API, "
                "`--request` in the command line)"
            )
        raise NotFoundError(
            f"the subject has no assignment of `{role}` on the resource; if it holds the role through a group or on a "
            "parent resource, change that assignment"
        )
    return found
