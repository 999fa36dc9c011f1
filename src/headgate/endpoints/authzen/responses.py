"""Decisions as AuthZEN responses: `decision`, and in its `context` the revision, the model and the reason.

The full reason is computed only on request: it takes a hundred times as long as the decision.
"""

from dataclasses import asdict, replace
from typing import Any

from headgate.control.kernel.vocabulary import describe_unknown_action
from headgate.control.organizations.organization import Organization
from headgate.control.questions.messages import NOT_IN_MODEL, UNKNOWN_ACTION
from headgate.decision.context import Models
from headgate.decision.explain.explain import explain, is_subject_known
from headgate.decision.types import Decision, Fix, GrantPath, RequiredAssignment, RequiredMembership
from headgate.endpoints.authzen.subjects import SubjectEvaluation
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId

Told = dict[str, Any]

_HIDDEN = "no-resource"

_UNKNOWN = ResourceId("")
"""The subject of a path that the recipient may not know; empty values are left out."""


def decision_response(decision: Decision, resource: str) -> Told:
    """Return the response for a decision on the resource that the caller named `resource`, without the full reason.

    A deny has the same text for a hidden, a missing and a visible but forbidden resource.
    """
    call = f"`{decision.question.action}` on `{resource}`"
    if decision.allowed:
        return _build_response(decision, "allowed", f"{call} is allowed")
    return _build_response(decision, "denied", f"{call} is not allowed; send `explain` in the context for the reason")


def explained_response(
    decision: Decision, resource: str, organization: Organization, moment: SubjectEvaluation, recipient: Caller
) -> Told:
    """Return the response for a decision with its full reason. A path has no subject that the recipient may not know.

    An allow lists all grant paths. A deny states what is missing, with the smallest fixes, if the subject may see the resource.
    """
    answers, question = moment.answers, decision.question
    explanation = explain(answers.models, answers.facts, question, moment.time, answers)
    missing = explanation.decision.missing
    if missing is None:
        answer = decision_response(decision, resource)
        answer["context"]["paths"] = [
            _plain(path if is_subject_known(answers, path, recipient, moment.time) else replace(path, subject=_UNKNOWN))
            for path in explanation.decision.paths
        ]
        return answer
    if missing.code == UNKNOWN_ACTION:
        return _build_response(
            decision, UNKNOWN_ACTION, _describe_unknown_action(answers.models, question.action, resource)
        )
    wording, known = organization.wording, answers.facts.resources.get(question.resource)
    if known is None or missing.code == _HIDDEN:
        return _build_response(decision, _HIDDEN, wording.hidden((resource,)))
    names = answers.facts.full_name(known.id)
    text = wording.refusal(answers.facts, question.action, names, explanation, known=True)
    answer = _build_response(decision, missing.code, text)
    answer["context"]["fixes"] = [_build_fix(fix) for fix in explanation.fixes]
    return answer


def _describe_unknown_action(models: Models, action: str, resource: str) -> str:
    """Return the text for an action that the models lack; it depends on no resource, so it reveals none."""
    return (
        describe_unknown_action(action, models.values()) or f"`{action}` on `{resource}` is not allowed: {NOT_IN_MODEL}"
    )


def error_response(status: int, message: str) -> Told:
    """Return the response for an invalid evaluation among several: a deny with an error."""
    return {"decision": False, "context": {"error": {"status": status, "message": message}}}


def _build_response(decision: Decision, code: str, text: str) -> Told:
    context = {
        "revision": decision.revision,
        "model": decision.model,
        "reason": {"code": code, "text": text},
        "obligations": [],
    }
    return {"decision": decision.allowed, "context": context}


def _build_fix(fix: Fix) -> Told:
    memberships = {"memberships": [_plain(each) for each in fix.memberships]} if fix.memberships else {}
    return {"subject": fix.subject, "assignments": [_plain(each) for each in fix.assignments], **memberships}


def _plain(record: GrantPath | RequiredAssignment | RequiredMembership) -> Told:
    return {key: value for key, value in asdict(record).items() if value not in (None, "")}
