"""Visibility of principals and groups: a caller sees a name only if they may act on it."""

from collections.abc import Callable
from functools import cache

from headgate.decision.context import model_for
from headgate.decision.evaluator import Answers
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId, SubjectId
from headgate.facts.snapshot import NO_NAMES, Snapshot

LISTING_ACTIONS = {
    "organization": ("organization.manage_users", "organization.read_subjects", "organization.ask"),
    "project": ("project.add_user", "project.edit_user_permissions", "project.read_subjects"),
}
"""Actions that let a caller see every user: one of them on the organization or on one of its projects is enough."""


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
