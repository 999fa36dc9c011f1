"""Questions about access: decisions, explanations, and lists of the principals and resources that an action is allowed for."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from fastapi import Query, Request
from pydantic import BaseModel, Field, JsonValue

from headgate.control.kernel.errors import NotFoundError
from headgate.control.kernel.parsing import InvalidDocumentError
from headgate.control.organizations.organization import Organization
from headgate.control.questions.messages import subject_display_name
from headgate.control.questions.parsing import parse_question
from headgate.decision.caller_validity import may_be_subject
from headgate.decision.explain.explain import explain, find_end, is_subject_known, smallest_fixes
from headgate.decision.types import Decision, GrantPath, Question, RequiredAssignment
from headgate.decision.types import Fix as SmallestFix
from headgate.endpoints.api.access.assignment_questions import resolve_assignment_question
from headgate.endpoints.api.resources.resources import ResourceSummary, build_resource_page
from headgate.endpoints.authzen.routes import record_decisions
from headgate.endpoints.common.context import CurrentOrganization, deployed
from headgate.endpoints.common.evaluation_time import Evaluation, RequestedEvaluation
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.lookup import Text, full_name, require_on_organization
from headgate.endpoints.common.paging import CurrentPaging, Paging, page_of_rows
from headgate.endpoints.common.problems import ProblemError
from headgate.endpoints.common.request_scope import REQUEST
from headgate.endpoints.common.route_metadata import caller_only, document_actions
from headgate.endpoints.common.schemas import Called, StrictSchema, page_model
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId, SubjectId
from headgate.facts.snapshot import Resource

router = ApiRouter(tags=["questions"])

ASK = "organization.ask"
"""The action that a question about another principal needs."""

_HIDDEN = "a team that you may not see"
"""The subject of a path by a team that the recipient may not know."""

Action = Annotated[Text, Field(min_length=1, max_length=100)]
Properties = Annotated[dict[Text, JsonValue], Field(max_length=50)]


class ActionQuestion(StrictSchema):
    """An action, for the caller or for another `subject` (an id or name).

    `properties` are the other arguments of the call, in which resources and subjects are ids.
    """

    action: Action
    subject: Called | None = None
    properties: Properties = Field(default_factory=dict)


class DecisionQuestion(ActionQuestion):
    """An action on a resource, for the caller or for another subject."""

    resource: Called


class PrincipalsQuestion(StrictSchema):
    """An action on a resource, for any principal."""

    action: Action
    resource: Called
    properties: Properties = Field(default_factory=dict)


class DecisionAnswer(BaseModel):
    """A decision, with the access model and the revision that it was made with."""

    allowed: bool
    action: str
    resource: str
    model: str
    revision: int


class DecisionReason(BaseModel):
    """One grant path that allows the action: the role that has it, and the assignment that the role comes from.

    The assignment is that of role `assigned` to `subject` on the resource `on`. If the role is derived from several resources,
    `weakest` is the one that decided. `reason` is what the assignment was created for, `ends` when it ends (seconds since the
    epoch; null if it has no end).
    """

    role: str
    subject: str
    assigned: str
    on: str
    weakest: str | None
    reason: str
    ends: float | None


class MissingRight(BaseModel):
    """The reason of a denial: its code, the roles that would allow the action, and `what` else is missing."""

    code: str
    roles: list[str]
    what: str


class FixAssignment(BaseModel):
    """One missing assignment, and the users who could create it.

    `subject` is the group or team that needs the role; it is left out for the subject of the question or of its assignment.
    """

    role: str
    resource: str
    approvers: list[str]
    subject: str | None = None


class FixMembership(BaseModel):
    """One group that the subject of the question has to join, and the users who could add it."""

    group: str
    approvers: list[str]


class Fix(BaseModel):
    """A fix: assignments and memberships that together would allow the action; `memberships` is left out if it is empty."""

    assignments: list[FixAssignment]
    memberships: list[FixMembership] = Field(default_factory=list[FixMembership])


class Explanation(DecisionAnswer):
    """A decision, with every grant path that allows it, or with the missing privilege and the smallest fixes."""

    because: list[DecisionReason]
    missing: MissingRight | None
    fixes: list[Fix]


class AllowedPrincipal(BaseModel):
    """A principal that may do the action."""

    id: str
    name: str
    kind: str


_OWN = caller_only("a question about another principal needs `organization.ask`")


@router.post("/questions", response_model=DecisionAnswer, **_OWN)
def ask_question(
    body: DecisionQuestion, request: Request, organization: CurrentOrganization, moment: RequestedEvaluation
) -> dict[str, Any]:
    """Check whether the caller, or another principal, may do an action on a resource."""
    asked = _parse_decision_question(organization, moment, body)
    decision = moment.answers.check(asked, moment.now)
    _record(request, organization, moment, decision)
    return {
        "allowed": decision.allowed,
        "action": body.action,
        "resource": body.resource,
        "model": decision.model,
        "revision": decision.revision,
    }


@router.post("/questions/explain", response_model=Explanation, response_model_exclude_unset=True, **_OWN)
def explain_question(
    body: DecisionQuestion, request: Request, organization: CurrentOrganization, moment: RequestedEvaluation
) -> dict[str, Any]:
    """Explain a decision: every grant path that allows the action, or the missing privilege and the smallest fixes."""
    asked = _parse_decision_question(organization, moment, body)
    answers = moment.answers
    found = explain(answers.models, answers.facts, asked, moment.now, answers)
    decision, fixes = found.decision, found.fixes
    _record(request, organization, moment, decision)
    if asked.caller != moment.caller and not decision.allowed:
        fixes = smallest_fixes(answers.models, answers.facts, asked, moment.now, answers, moment.caller)
    missing = decision.missing
    return {
        "allowed": decision.allowed,
        "action": body.action,
        "resource": body.resource,
        "model": decision.model,
        "revision": decision.revision,
        "because": [_because(organization, moment, each) for each in decision.paths],
        "missing": {"code": missing.code, "roles": missing.roles, "what": missing.what} if missing else None,
        "fixes": [_fix(organization, moment, asked, each) for each in fixes],
    }


@router.post("/questions/who", response_model=page_model(AllowedPrincipal), **document_actions(ASK))
def list_allowed_principals(
    body: PrincipalsQuestion, organization: CurrentOrganization, moment: RequestedEvaluation, pages: CurrentPaging
) -> dict[str, Any]:
    """List the principals that may do an action on a resource by themselves."""
    require_on_organization(organization, moment.caller, ASK)
    return list_able_principals(
        organization, moment, moment.resource(body.resource), (body.action, body.properties), pages
    )


@router.get("/resources/{resource}/who", response_model=page_model(AllowedPrincipal), **document_actions(ASK))
def list_principals_of_resource(
    resource: Called,
    action: Annotated[Action, Query()],
    organization: CurrentOrganization,
    moment: RequestedEvaluation,
    pages: CurrentPaging,
) -> dict[str, Any]:
    """List the principals that may do an action on a resource by themselves."""
    return list_allowed_principals(PrincipalsQuestion(action=action, resource=resource), organization, moment, pages)


@router.post("/questions/which", response_model=page_model(ResourceSummary), **_OWN)
def list_allowed_resources(
    body: ActionQuestion, organization: CurrentOrganization, moment: RequestedEvaluation, pages: CurrentPaging
) -> dict[str, Any]:
    """List the resources on which the caller, or another principal, may do an action."""
    caller, facts = resolve_question_subject(organization, moment, body.subject), moment.facts
    if not body.properties:
        found: Iterable[ResourceId] = moment.answers.list_resources(caller, body.action, moment.now)
    else:
        type = body.action.partition(".")[0]
        there = (id for id, each in facts.resources.items() if type in ("assignment", each.type))
        found = _find_allowed(moment, [_question(moment, caller, body.action, id, body.properties) for id in there])
    return build_resource_page(moment, (facts.resources[id] for id in found), pages)


def list_able_principals(
    organization: Organization, moment: Evaluation, place: Resource, asked: tuple[str, Properties], pages: Paging
) -> dict[str, Any]:
    """Return a page of the principals that may do an action, with these properties, on a resource."""
    (action, said), known = asked, moment.facts.principals
    if said:
        questions = [_question(moment, Caller(id), action, place.id, said) for id in known]
        checked = moment.answers.check_many(questions, moment.now)
        found: Iterable[PrincipalId] = (each.question.caller.principal for each in checked if each.allowed)
    else:
        found = moment.answers.list_principals(action, place.id, moment.now)
    rows = ({"id": id, "name": organization.directory.name(id), "kind": known[id].kind} for id in found)
    return page_of_rows(rows, pages, ("name", "kind"), moment.facts.revision)


def resolve_question_subject(organization: Organization, moment: Evaluation, name: str | None) -> Caller:
    """Return the caller, or the other principal or team, that a question is about.

    Raises `PermissionDeniedError` if it is another one and the caller lacks `organization.ask`.
    """
    mine = moment.caller.principal
    if name is None or name in (mine, organization.directory.name(mine)):
        return moment.caller
    require_on_organization(organization, moment.caller, ASK)
    if PrincipalId(name) in moment.facts.principals:
        return Caller(PrincipalId(name))
    found = organization.directory.find(name)
    if found is not None and found in organization.control.snapshot.principals:
        return Caller(PrincipalId(found))
    team = moment.resource(name)
    if not may_be_subject(moment.facts, team):
        raise NotFoundError(organization.wording.hidden((name,)))
    return Caller(PrincipalId(team.id))


def _record(request: Request, organization: Organization, moment: Evaluation, decision: Decision) -> None:
    """Record the decision in the audit, if the setting `HEADGATE_AUDIT` includes it."""
    record_decisions(
        deployed(request),
        organization,
        moment.caller,
        (decision,),
        str(request.scope.get(REQUEST, "")),
        "api",
    )


def _parse_decision_question(organization: Organization, moment: Evaluation, body: DecisionQuestion) -> Question:
    place = moment.resource(body.resource)
    caller = resolve_question_subject(organization, moment, body.subject)
    asked = _question(moment, caller, body.action, place.id, body.properties)
    return resolve_assignment_question(organization, moment, asked)


def _question(moment: Evaluation, caller: Caller, action: str, place: ResourceId, said: Properties) -> Question:
    try:
        return parse_question(moment.answers, caller, action, place, said)
    except InvalidDocumentError as error:
        raise ProblemError(422, "invalid", f"`properties`: {error}") from None


def _find_allowed(moment: Evaluation, asked: Sequence[Question]) -> Iterable[ResourceId]:
    return (each.question.resource for each in moment.answers.check_many(asked, moment.now) if each.allowed)


def _fix(organization: Organization, moment: Evaluation, asked: Question, fix: SmallestFix) -> dict[str, Any]:
    name = organization.directory.name
    memberships = [
        {"group": name(each.group), "approvers": [name(one) for one in each.approvers]} for each in fix.memberships
    ]
    needed = [
        _needed(organization, moment, each, None if subject in (asked.caller.principal, asked.subject) else subject)
        for each in fix.assignments
        for subject in (each.subject or fix.subject,)
    ]
    return {"assignments": needed, "memberships": memberships} if memberships else {"assignments": needed}


def _needed(
    organization: Organization, moment: Evaluation, needed: RequiredAssignment, subject: SubjectId | None
) -> dict[str, Any]:
    names, facts = organization.directory, moment.facts
    return {
        "role": needed.role,
        "resource": full_name(facts, needed.resource),
        "approvers": [names.name(each) for each in needed.approvers],
        **({"subject": subject_display_name(names, facts, subject)} if subject else {}),
    }


def _because(organization: Organization, moment: Evaluation, path: GrantPath) -> dict[str, Any]:
    is_known = is_subject_known(moment.answers, path, moment.caller, moment.now)
    return {
        "role": path.role,
        "subject": subject_display_name(organization.directory, moment.facts, path.subject) if is_known else _HIDDEN,
        "assigned": path.assigned_role,
        "on": full_name(moment.facts, path.assigned_on),
        "weakest": full_name(moment.facts, path.weakest) if path.weakest else None,
        "reason": path.reason,
        "ends": find_end(moment.facts, path),
    }
