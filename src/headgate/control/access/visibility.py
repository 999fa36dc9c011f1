"""Visibility of principals and groups: a caller sees a name only if they may act on it."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from headgate.control.kernel.command import CommandContext, resolve_role_model
from headgate.control.kernel.errors import NotFoundError
from headgate.decision.context import model_for
from headgate.decision.evaluator import Answers
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.changes import PrincipalAdded, RoleAssigned
from headgate.facts.ids import PrincipalId, ResourceId, SubjectId
from headgate.facts.snapshot import NO_NAMES, Snapshot

LISTING_ACTIONS = {
    "organization": ("organization.manage_users", "organization.read_subjects", "organization.ask"),
    "project": ("project.add_user", "project.edit_user_permissions", "project.read_subjects"),
}
"""Actions that let a caller see every user: one of them on the organization or on one of its projects is enough."""

HYPOTHETICAL_USER = PrincipalId("?")
"""A hypothetical user: a refusal is decided for this user, so that it reveals nothing about the named one."""


def may_list_users(answers: Answers, caller: Caller, now: float) -> bool:
    """Return whether the caller may see every user of the organization."""
    facts = answers.facts
    if facts.organization is None:
        return False
    places = (facts.organization, *facts.children.get(facts.organization, NO_NAMES).values())
    asked = (
        Question(caller, action, place)
        for place in places
        for action in LISTING_ACTIONS.get(facts.resources[place].type, ())
    )
    return any(answers.check(each, now).allowed for each in asked)


def visible_subjects(answers: Answers, caller: Caller, now: float) -> Callable[[SubjectId], bool]:
    """Return the predicate for the principals and groups that the caller may see. The caller always sees itself.

    A group or service principal is seen like any resource, if the model has actions on its type. Without such actions, and
    for users, the rule is `may_list_users`.
    """
    facts = answers.facts

    @cache
    def sees_all() -> bool:
        return may_list_users(answers, caller, now)

    def known(subject: SubjectId) -> bool:
        found = facts.resources.get(ResourceId(subject))
        model = model_for(answers.models, facts, found.type, found.id) if found else None
        if subject == caller.principal:
            return True
        if found is not None and model is not None and model.actions_on(found.type):
            return answers.is_discoverable(caller, found.id, now)
        return sees_all()

    return known


def name_visibility(answers: Answers, caller: Caller | None, now: float) -> Callable[[str], bool]:
    """Return the predicate for the ids whose names the caller may see; the deployment may see all names."""
    if caller is None:
        return _may_know_any
    known = visible_subjects(answers, caller, now)

    def may_know(id: str) -> bool:
        if is_resource_only(answers.facts, id):
            return answers.is_discoverable(caller, ResourceId(id), now)
        return known(PrincipalId(id))

    return may_know


def is_resource_only(facts: Snapshot, id: str) -> bool:
    """Return whether an id belongs to a resource, such as a team or a group, and not to a principal."""
    return ResourceId(id) in facts.resources and PrincipalId(id) not in facts.principals


def _may_know_any(_: str) -> bool:
    return True


def may_see_subject(answers: Answers, caller: Caller, subject: SubjectId, now: float) -> bool:
    """Return whether the caller may see a principal or group."""
    return visible_subjects(answers, caller, now)(subject)


def resolve_subject_for(view: CommandContext, asked: Question, found: SubjectId | None, name: str) -> SubjectId:
    """Return the subject that `name` resolved to, if the caller may perform the question for it.

    `found` is None if the name matches no subject or several. A caller that may not perform the question for any subject
    on the resource is refused, whatever the name is: the check then runs for a hypothetical user. Any other caller gets
    `NotFoundError` if `found` is None. A resource, such as a team, is found only if the caller may see it or perform the
    question for it, so the command decides about it. Raises `InvalidError` for an unknown role.
    """
    given = asked.new_role or (asked.role if asked.action == "assignment.add" else None)
    if given is not None:
        resolve_role_model(view, given, view.target(asked.resource))
    if found is not None and _may_be_named(view, asked, found):
        return found
    if not _is_for_users(view, asked):
        raise NotFoundError(unknown_name_text(name))
    _with_hypothetical_user(view, asked.resource).require(replace(asked, subject=HYPOTHETICAL_USER))
    if found is None:
        raise NotFoundError(unknown_name_text(name))
    return found


def _may_be_named(view: CommandContext, asked: Question, found: SubjectId) -> bool:
    is_resource = is_resource_only(view.facts, found) and found not in view.facts.groups
    return is_resource or view.engine.check(replace(asked, subject=found), view.now).allowed


def _is_for_users(view: CommandContext, asked: Question) -> bool:
    """Return whether the model lets users hold the role, so that a check for a hypothetical user is meaningful."""
    place, role = view.target(asked.resource), asked.new_role or asked.role
    known = view.model_for(place.type, place.id).roles.get(role or "")
    return known is None or "user" in known.to


def unknown_name_text(name: str) -> str:
    """Return the message about a name that matches no subject, or several."""
    return f"the name `{name}` matches no user, service principal, group or team, or it matches several; use the id instead"


def _with_hypothetical_user(view: CommandContext, place: ResourceId) -> CommandContext:
    """Return the view with a hypothetical user, a member of every parent of the place that requires it, without other roles."""
    above = tuple(view.facts.ancestors(place))
    standing = (
        RoleAssigned(HYPOTHETICAL_USER, min(rule.roles), each.id, model.name)
        for model in view.models.values()
        for rule in model.standing
        for each in above
        if each.type == rule.on
    )
    return view.with_changes(PrincipalAdded(HYPOTHETICAL_USER, "user"), *standing)
