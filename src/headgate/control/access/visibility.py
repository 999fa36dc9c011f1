"""Which subjects a caller may see: a name tells nothing to a caller that could not do anything with it."""

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
"""Whoever may do one of these, on the organization or on one of its projects, knows everybody in it."""

HYPOTHETICAL_USER = PrincipalId("?")
"""A hypothetical user: a refusal is decided for this one, so that it tells nothing of the named one."""


def may_list_users(answers: Answers, caller: Caller, now: float) -> bool:
    """Say whether the caller may know of every user here."""
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
    """Return what says of which principals and groups the caller may know: oneself, and what the access model says.

    That is about groups and service principals as about any resource; where it has no action on them, and about users, it
    is who may know everybody.
    """
    facts = answers.facts

    @cache
    def everybody() -> bool:
        return may_list_users(answers, caller, now)

    def known(subject: SubjectId) -> bool:
        found = facts.resources.get(ResourceId(subject))
        model = model_for(answers.models, facts, found.type, found.id) if found else None
        if subject == caller.principal:
            return True
        if found is not None and model is not None and model.actions_on(found.type):
            return answers.is_discoverable(caller, found.id, now)
        return everybody()

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
    """Return whether an id is that of a resource, such as a team or a group, and of no principal."""
    return ResourceId(id) in facts.resources and PrincipalId(id) not in facts.principals


def _may_know_any(_: str) -> bool:
    return True


def may_see_subject(answers: Answers, caller: Caller, subject: SubjectId, now: float) -> bool:
    """Say whether the caller may know of a principal or group."""
    return visible_subjects(answers, caller, now)(subject)


def resolve_subject_for(view: CommandContext, asked: Question, found: SubjectId | None, name: str) -> SubjectId:
    """Return `found`, which is whom a name means, None for nobody, to who may do what is asked for that one.

    Who may not do it for anybody here is refused, whatever the name is. Raises `NotFoundError` to anybody else if nobody
    is called so, `InvalidError` for a role that there is not.
    """
    given = asked.new_role or (asked.role if asked.action == "assignment.add" else None)
    if given is not None:
        resolve_role_model(view, given, view.target(asked.resource))
    if found is not None and view.engine.check(replace(asked, subject=found), view.now).allowed:
        return found
    _with_hypothetical_user(view, asked.resource).require(replace(asked, subject=HYPOTHETICAL_USER))
    if found is None:
        raise NotFoundError(unknown_name_text(name))
    return found


def unknown_name_text(name: str) -> str:
    """Return what is said of a name that tells nobody apart."""
    return f"nobody is called `{name}`, or several are; an id is always one of them"


def _with_hypothetical_user(view: CommandContext, place: ResourceId) -> CommandContext:
    """Return the view with one user more, who stands everywhere above the place and holds nothing else."""
    above = tuple(view.facts.ancestors(place))
    standing = (
        RoleAssigned(HYPOTHETICAL_USER, min(rule.roles), each.id, model.name)
        for model in view.models.values()
        for rule in model.standing
        for each in above
        if each.type == rule.on
    )
    return view.with_changes(PrincipalAdded(HYPOTHETICAL_USER, "user"), *standing)
