"""Questions about assignments: their role and subject must be known, so that a misspelt name is no deny."""

from dataclasses import replace

from headgate.control.access.subject_resolution import HYPOTHETICAL_USER
from headgate.control.access.visibility import is_resource_only, may_list_users, may_see_subject
from headgate.control.kernel.command import CommandContext, resolve_role_model
from headgate.control.kernel.errors import NotFoundError
from headgate.control.organizations.organization import Organization
from headgate.control.questions.messages import hidden_text
from headgate.decision.reference import ASSIGNING
from headgate.decision.types import Question
from headgate.endpoints.common.evaluation_time import Evaluation
from headgate.endpoints.common.problems import ProblemError
from headgate.endpoints.common.subject_lookup import find_subject
from headgate.facts.ids import ResourceId, SubjectId

_REQUIRED = {"assignment.add": "role", "assignment.change": "new_role"}
"""The property with the role that the action assigns."""


def resolve_assignment_question(organization: Organization, moment: Evaluation, asked: Question) -> Question:
    """Return the question with the id of its subject, which may be named by its name.

    Raises an error for a question without a role, or with an unknown role or subject. A subject is unknown if it is missing,
    or hidden from a caller that may not perform the action for it. A caller that may not see the users gets a deny for it.
    """
    if asked.action not in ASSIGNING:
        return asked
    _require_role(moment, asked)
    if asked.subject is None:
        return asked
    found = _find_subject(organization, moment, asked, asked.subject)
    meant = replace(asked, subject=found)
    if found is not None and _is_known(moment, meant, found):
        return meant
    if may_list_users(moment.answers, moment.caller, moment.now):
        raise NotFoundError(hidden_text((asked.subject,)))
    return replace(asked, subject=HYPOTHETICAL_USER)  # the same answer for a hidden subject as for a missing one


def _find_subject(organization: Organization, moment: Evaluation, asked: Question, name: SubjectId) -> SubjectId | None:
    facts = moment.facts
    if name in facts.principals or name in facts.groups or name in facts.resources:
        return name
    return find_subject(organization, replace(asked, caller=moment.caller), name)


def _require_role(moment: Evaluation, asked: Question) -> None:
    role, property = asked.new_role or asked.role, _REQUIRED.get(asked.action)
    if property is None:
        return
    if role is None:
        raise ProblemError(
            422, "invalid", f"`properties.{property}` is missing; add the role that the question is about"
        )
    view = CommandContext(moment.answers, moment.caller, moment.now)
    resolve_role_model(view, role, moment.facts.resources[asked.resource])


def _is_known(moment: Evaluation, asked: Question, subject: SubjectId) -> bool:
    if is_resource_only(moment.facts, subject) and subject not in moment.facts.groups:
        seen = moment.sees(ResourceId(subject))
    else:
        there = subject in moment.facts.principals or subject in moment.facts.groups
        seen = there and may_see_subject(moment.answers, moment.caller, subject, moment.now)
    return seen or moment.answers.check(asked, moment.now).allowed
