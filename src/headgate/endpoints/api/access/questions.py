"""Questions: may somebody do something, who may, where may they, and why or why not."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field, JsonValue

from headgate.control.kernel.errors import NotFoundError
from headgate.control.kernel.parsing import InvalidDocumentError
from headgate.control.organizations.organization import Organization
from headgate.control.questions.parsing import parse_question
from headgate.decision.explain.explain import explain, smallest_fixes
from headgate.decision.types import Decision, GrantPath, Question, RequiredAssignment
from headgate.decision.types import Fix as SmallestFix
from headgate.endpoints.api.resources.resources import ResourceSummary, build_resource_page
from headgate.endpoints.authzen.routes import record_decisions
from headgate.endpoints.common.context import CurrentOrganization, deployed
from headgate.endpoints.common.evaluation_time import Evaluation, RequestedEvaluation
from headgate.endpoints.common.lookup import Text, full_name, require_on_organization
from headgate.endpoints.common.paging import CurrentPaging, Paging, page_of_rows
from headgate.endpoints.common.problems import ProblemError
from headgate.endpoints.common.request_scope import REQUEST
from headgate.endpoints.common.route_metadata import caller_only, document_actions
from headgate.endpoints.common.schemas import Called, StrictSchema, page_model
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Resource

router = APIRouter(tags=["questions"])

ASK = "organization.ask"
"""What asking about somebody else needs."""

_TEAMS = ("team", "domain")

Action = Annotated[Text, Field(min_length=1, max_length=100)]
Properties = Annotated[dict[Text, JsonValue], Field(max_length=50)]


class ActionQuestion(StrictSchema):
    """An action, for the caller or for somebody else (an id or name), and what else the call would say, by ids."""

    action: Action
    subject: Called | None = None
    properties: Properties = Field(default_factory=dict)


class DecisionQuestion(ActionQuestion):
    """An action on a resource."""

    resource: Called


class PrincipalsQuestion(StrictSchema):
    """An action on a resource, for whoever."""

    action: Action
    resource: Called
    properties: Properties = Field(default_factory=dict)


class DecisionAnswer(BaseModel):
    """A decision, the model in force and the revision that it was taken at."""

    allowed: bool
    action: str
    resource: str
    model: str
    revision: int


class DecisionReason(BaseModel):
    """One way that allows it: the role, and who was assigned which role on what; `weakest` decided among several."""

    role: str
    subject: str
    assigned: str
    on: str
    weakest: str | None
    reason: str


class MissingRight(BaseModel):
    """What a refused call lacks."""

    code: str
    roles: list[str]
    what: str


class FixAssignment(BaseModel):
    """One assignment to make, and who could make it."""

    role: str
    resource: str
    approvers: list[str]


class Fix(BaseModel):
    """Assignments that together would allow it."""

    assignments: list[FixAssignment]


class Explanation(DecisionAnswer):
    """A decision with every way that allows it, or with what is missing and the smallest fixes."""

    because: list[DecisionReason]
    missing: MissingRight | None
    fixes: list[Fix]


class AllowedPrincipal(BaseModel):
    """Somebody who may."""

    id: str
    name: str
    kind: str


_OWN = caller_only("asks about the caller; about anybody else it needs `organization.ask`")


@router.post("/questions", response_model=DecisionAnswer, **_OWN)
def ask_question(
    body: DecisionQuestion, request: Request, organization: CurrentOrganization, moment: RequestedEvaluation
) -> dict[str, Any]:
    """Answer whether the caller, or somebody else, may do something on a resource."""
    place = moment.resource(body.resource)
    asked = _question(
        moment, resolve_question_subject(organization, moment, body.subject), body.action, place.id, body.properties
    )
    decision = moment.answers.check(asked, moment.now)
    _record(request, organization, moment, decision)
    return {
        "allowed": decision.allowed,
        "action": body.action,
        "resource": body.resource,
        "model": decision.model,
        "revision": decision.revision,
    }


@router.post("/questions/explain", response_model=Explanation, **_OWN)
def explain_question(
    body: DecisionQuestion, request: Request, organization: CurrentOrganization, moment: RequestedEvaluation
) -> dict[str, Any]:
    """Answer with the reasons: every way that allows it, or what is missing and the smallest fixes."""
    place = moment.resource(body.resource)
    asked = _question(
        moment, resolve_question_subject(organization, moment, body.subject), body.action, place.id, body.properties
    )
    answers = moment.answers
    found = explain(answers.models, answers.facts, asked, moment.now, answers)
    decision, fixes = found.decision, found.fixes
    _record(request, organization, moment, decision)
    if asked.caller != moment.caller and not decision.allowed:
        fixes = smallest_fixes(answers.models, answers.facts, asked, moment.now, answers)
    missing = decision.missing
    return {
        "allowed": decision.allowed,
        "action": body.action,
        "resource": body.resource,
        "model": decision.model,
        "revision": decision.revision,
        "because": [_because(organization, moment, each) for each in decision.paths],
        "missing": {"code": missing.code, "roles": missing.roles, "what": missing.what} if missing else None,
        "fixes": [_fix(organization, moment, each) for each in fixes],
    }


@router.post("/questions/who", response_model=page_model(AllowedPrincipal), **document_actions(ASK))
def list_allowed_principals(
    body: PrincipalsQuestion, organization: CurrentOrganization, moment: RequestedEvaluation, pages: CurrentPaging
) -> dict[str, Any]:
    """List who may do something on a resource, by themselves."""
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
    """List who may do something on a resource, by themselves."""
    return list_allowed_principals(PrincipalsQuestion(action=action, resource=resource), organization, moment, pages)


@router.post("/questions/which", response_model=page_model(ResourceSummary), **_OWN)
def list_allowed_resources(
    body: ActionQuestion, organization: CurrentOrganization, moment: RequestedEvaluation, pages: CurrentPaging
) -> dict[str, Any]:
    """List where the caller, or somebody else, may do something."""
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
    """Return a page of who may do an action, with these properties, on a resource."""
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
    """Return whom a question is about. Raises `PermissionDeniedError` to who may only ask about themselves."""
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
    if team.type not in _TEAMS:
        raise NotFoundError(organization.wording.hidden((name,)))
    return Caller(PrincipalId(team.id))


def _record(request: Request, organization: Organization, moment: Evaluation, decision: Decision) -> None:
    """Have the audit keep the answer, as far as it wants to know."""
    record_decisions(
        deployed(request),
        organization,
        moment.caller,
        (decision,),
        str(request.scope.get(REQUEST, "")),
        "api",
    )


def _question(moment: Evaluation, caller: Caller, action: str, place: ResourceId, said: Properties) -> Question:
    try:
        return parse_question(moment.answers, caller, action, place, said)
    except InvalidDocumentError as error:
        raise ProblemError(422, "invalid", f"`properties`: {error}") from None


def _find_allowed(moment: Evaluation, asked: Sequence[Question]) -> Iterable[ResourceId]:
    return (each.question.resource for each in moment.answers.check_many(asked, moment.now) if each.allowed)


def _fix(organization: Organization, moment: Evaluation, fix: SmallestFix) -> dict[str, Any]:
    return {"assignments": [_needed(organization, moment, each) for each in fix.assignments]}


def _needed(organization: Organization, moment: Evaluation, needed: RequiredAssignment) -> dict[str, Any]:
    return {
        "role": needed.role,
        "resource": full_name(moment.facts, needed.resource),
        "approvers": [organization.directory.name(each) for each in needed.approvers],
    }


def _because(organization: Organization, moment: Evaluation, path: GrantPath) -> dict[str, Any]:
    return {
        "role": path.role,
        "subject": organization.directory.name(path.subject),
        "assigned": path.assigned_role,
        "on": full_name(moment.facts, path.assigned_on),
        "weakest": full_name(moment.facts, path.weakest) if path.weakest else None,
        "reason": path.reason,
    }
