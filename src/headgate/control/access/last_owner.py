"""Protects the last owner: at least one user must always be able to assign every role of the organization."""

from headgate.control.kernel.command import CommandContext
from headgate.control.kernel.errors import InvalidError
from headgate.facts.changes import Change
from headgate.facts.ids import GroupId, PrincipalId, SubjectId
from headgate.facts.snapshot import NO_SUBJECTS, Assignment
from headgate.model.model import AssignRule, Model, Role


def owner_roles(model: Model, type: str = "organization") -> tuple[str, ...]:
    """Return the owner roles: their holders may assign every role on resources of a type. Weakest (fewest actions) first."""
    there = [role for role in model.roles.values() if type in role.on]
    rules = [rule for rule in model.assign if type in rule.on and "add" in rule.verbs and not rule.on_subject]
    found = [role for role in there if {each.name for each in there} <= _list_assignable_roles(role, rules)]
    return tuple(role.name for role in sorted(found, key=lambda role: (len(role.actions), role.name)))


def _list_assignable_roles(role: Role, rules: list[AssignRule]) -> frozenset[str]:
    return frozenset[str]().union(*(rule.roles for rule in rules if role.closure & set(rule.holder)))


def require_remaining_owner(view: CommandContext, leaving: SubjectId, *changes: Change) -> None:
    """Raise `InvalidError` if after these changes, by which this subject loses roles, no user is a permanent owner.

    The deployment itself may remove the last owner.
    """
    subjects = (leaving, *view.facts.groups_of(PrincipalId(leaving)))
    there = view.facts.assignments_on.get(view.root, NO_SUBJECTS)
    held = {role for subject in subjects for role, _, _ in there.keys_of(subject)}
    if view.caller is None or not held:
        return
    roles = owner_roles(view.model, view.facts.resources[view.root].type)
    if held.isdisjoint(roles):
        return
    after = view.with_changes(*changes)
    if not any(
        is_permanent(after, each, after.model) for each in after.facts.list_assigned_on(view.root) if each.role in roles
    ):
        raise InvalidError(f"the change would leave no owner; assign `{roles[0]}` without an end to another user first")


def is_permanent(view: CommandContext, given: Assignment, model: Model) -> bool:
    """Whether an assignment of a role of the model holds now and without an end, for a user without an end."""
    group = view.facts.groups.get(GroupId(given.subject))
    people = (view.facts.principals.get(id) for id in (group.members if group else (PrincipalId(given.subject),)))
    lasting = given.model == model.name and given.ends is None and given.holds_at(view.now)
    return lasting and any(each is not None and each.kind == "user" and each.ends is None for each in people)
