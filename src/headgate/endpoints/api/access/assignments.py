"""Role assignments: a subject holds a role on a resource."""

from collections.abc import Callable, Iterator
from typing import Annotated, Any

from fastapi import Query, Request
from pydantic import BaseModel, Field, ValidationError

from headgate.control.access.assignments import AssignRole, ChangeRole, RevokeRole
from headgate.control.identity.narrowed_callers import is_narrowed
from headgate.control.kernel.batch import Batch
from headgate.control.organizations.organization import Organization
from headgate.decision.types import Question
from headgate.endpoints.common.context import CurrentCaller, CurrentOrganization
from headgate.endpoints.common.evaluation_time import Evaluation, RequestedEvaluation
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.lookup import full_name, resolve_visible
from headgate.endpoints.common.paging import CurrentPaging, page_of_rows
from headgate.endpoints.common.plain_writes import BuildPlainWrite, PlainWrite, PlainWriteRoute, plain_form
from headgate.endpoints.common.route_metadata import DISCOVER, document_actions
from headgate.endpoints.common.schemas import Called, StrictSchema, Time, page_model
from headgate.endpoints.common.subject_lookup import resolve_assignment
from headgate.endpoints.common.writes import DONE, Writes
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId, SubjectId
from headgate.facts.snapshot import NOTHING_HELD, Assignment

router = ApiRouter(tags=["assignments"], route_class=PlainWriteRoute)

_JSON = "application/json"
_MOST = 100
"""The maximum number of assignments in one command."""


class AssignmentSummary(BaseModel):
    """A role assignment: a subject holds a role on a resource, from `starts` until `ends`.

    The times are seconds since the epoch, null if open. `reason` is what it was created for, such as the id of an access
    request.
    """

    id: str
    subject: str
    subject_id: str
    role: str
    resource: str
    resource_id: str
    model: str
    grantor: str | None
    starts: float | None
    ends: float | None
    reason: str


class AssignmentCreate(StrictSchema):
    """A role on a resource, for a user, service principal, group or team by id or name."""

    subject: Called
    role: Annotated[Called, Field(max_length=100)]
    resource: Called
    starts: Time | None = None
    ends: Time | None = None
    reason: Annotated[Called, Field(max_length=200)] | None = None


class AssignmentBatch(StrictSchema):
    """Several assignments: either all are created, at one revision, or none."""

    assignments: Annotated[list[AssignmentCreate], Field(min_length=1, max_length=_MOST)]


class AssignmentReference(StrictSchema):
    """The assignment that a query names."""

    subject: Called
    role: Annotated[Called, Field(max_length=100)]
    resource: Called
    reason: Annotated[str, Field(max_length=200)] = ""


class AssignmentPatch(StrictSchema):
    """The new role."""

    role: Annotated[Called, Field(max_length=100)]


SubjectSaid = Annotated[Called, Query(description="the subject: an id or name")]
RoleSaid = Annotated[Called, Query(max_length=100)]
ResourceSaid = Annotated[Called, Query(description="the resource: an id or name")]
ReasonSaid = Annotated[str, Query(max_length=200, description="the reason of the assignment; empty if omitted")]


@router.get("/assignments", response_model=page_model(AssignmentSummary), **document_actions(DISCOVER))
def list_assignments(
    organization: CurrentOrganization,
    asking: RequestedEvaluation,
    pages: CurrentPaging,
    subject: SubjectSaid | None = None,
    role: RoleSaid | None = None,
    resource: ResourceSaid | None = None,
    reason: ReasonSaid | None = None,
) -> dict[str, Any]:
    """List the caller's own assignments, and the assignments on resources that the caller may see."""
    place = asking.resource(resource) if resource is not None else None
    whose = None if subject is None else _resolve_subject(organization, asking, subject)
    rows = (
        _row(organization, asking, each)
        for each in _list_visible(asking, whose, place.id if place else None)
        if role in (None, each.role) and reason in (None, each.reason)
    )
    return page_of_rows(rows, pages, ("subject", "resource", "role", "ends"), asking.facts.revision)


async def _read_new_assignment(request: Request) -> BuildPlainWrite | None:
    if request.scope["query_string"] or request.headers.get("content-type") != _JSON:
        return None
    try:
        body = AssignmentCreate.model_validate_json(await request.body())
    except ValidationError:
        return None
    return _plan(lambda organization, caller: _build_assignment(organization, caller, body))


async def _read_assignment_reference(request: Request) -> BuildPlainWrite | None:
    named = request.query_params.multi_items()
    if await request.body() or len(dict(named)) != len(named):
        return None
    try:
        given = AssignmentReference.model_validate(dict(named))
    except ValidationError:
        return None
    return _plan(lambda organization, caller: _build_revocation(organization, caller, given))


def _plan(build: Callable[[Organization, Caller], AssignRole | RevokeRole]) -> BuildPlainWrite:
    def plan(organization: Organization, caller: Caller) -> PlainWrite:
        command = build(organization, caller)
        return PlainWrite(command, command.resource, _id(command))

    return plan


@router.post("/assignments", status_code=201, **DONE, **document_actions("assignment.add"))
@plain_form(_read_new_assignment)
def create_assignment(
    body: AssignmentCreate, organization: CurrentOrganization, caller: CurrentCaller, write: Writes
) -> dict[str, Any]:
    """Assign a role."""
    command = _build_assignment(organization, caller, body)
    return write.execute(command, command.resource, id=_id(command))


@router.post("/assignments/batch", status_code=201, **DONE, **document_actions("assignment.add"))
def create_assignments(
    body: AssignmentBatch, organization: CurrentOrganization, caller: CurrentCaller, write: Writes
) -> dict[str, Any]:
    """Assign several roles: either all of them, at one revision, or none."""
    commands = tuple(_build_assignment(organization, caller, each) for each in body.assignments)
    return write.execute(Batch(commands, "role.assign_several"), ids=[_id(each) for each in commands])


@router.patch("/assignments", **DONE, **document_actions("assignment.change"))
def update_assignment(
    body: AssignmentPatch,
    organization: CurrentOrganization,
    caller: CurrentCaller,
    write: Writes,
    subject: SubjectSaid,
    role: RoleSaid,
    resource: ResourceSaid,
    reason: ReasonSaid = "",
) -> dict[str, Any]:
    """Replace the role of an assignment; its dates and its reason stay."""
    named = Question(caller, "assignment.change", ResourceId(resource), role=role, new_role=body.role)
    place, found = resolve_assignment(organization, named, subject)
    command = ChangeRole(found, role, body.role, place, reason)
    return write.execute(command, place, id=f"{command.subject}:{body.role}:{place}:{reason}")


@router.delete("/assignments", **DONE, **document_actions("assignment.remove"))
@plain_form(_read_assignment_reference)
def delete_assignment(
    organization: CurrentOrganization,
    caller: CurrentCaller,
    write: Writes,
    subject: SubjectSaid,
    role: RoleSaid,
    resource: ResourceSaid,
    reason: ReasonSaid = "",
) -> dict[str, Any]:
    """Revoke a role. After the response, no decision uses the assignment."""
    given = AssignmentReference(subject=subject, role=role, resource=resource, reason=reason)
    command = _build_revocation(organization, caller, given)
    return write.execute(command, command.resource, id=_id(command))


def _build_revocation(organization: Organization, caller: Caller, given: AssignmentReference) -> RevokeRole:
    named = Question(caller, "assignment.remove", ResourceId(given.resource), role=given.role)
    place, found = resolve_assignment(organization, named, given.subject)
    return RevokeRole(found, given.role, place, given.reason)


def _build_assignment(organization: Organization, caller: Caller, body: AssignmentCreate) -> AssignRole:
    named = Question(caller, "assignment.add", ResourceId(body.resource), role=body.role)
    place, subject = resolve_assignment(organization, named, body.subject)
    return AssignRole(subject, body.role, place, body.ends, body.starts, body.reason or "")


def _resolve_subject(organization: Organization, moment: Evaluation, name: str) -> SubjectId:
    """Return the subject of this id or name; for an unknown name a subject without assignments, so that the list is empty."""
    team = resolve_visible(moment.answers, moment.caller, moment.now, name)
    return organization.directory.find(name) or team or PrincipalId(name)


def _list_visible(moment: Evaluation, whose: SubjectId | None, place: ResourceId | None) -> Iterator[Assignment]:
    facts = moment.facts
    subjects = facts.assignments if whose is None else (whose,)
    if place is not None:
        subjects = [each for each in facts.assignments_on.get(place, ()) if whose in (None, each)]
    own = None if is_narrowed(facts, moment.caller) else moment.caller.principal
    known: dict[ResourceId, bool] = {}
    for subject in subjects:
        for each in facts.assignments.get(subject, NOTHING_HELD).values():
            if place not in (None, each.resource):
                continue
            if each.resource not in known:
                known[each.resource] = moment.sees(each.resource)
            if known[each.resource] or subject == own:
                yield each


def _id(command: AssignRole | RevokeRole | Assignment) -> str:
    return f"{command.subject}:{command.role}:{command.resource}:{command.reason}"


def _row(organization: Organization, moment: Evaluation, given: Assignment) -> dict[str, Any]:
    return {
        "id": _id(given),
        "subject": _format_subject(organization, moment, given.subject),
        "subject_id": given.subject,
        "role": given.role,
        "resource": _format_resource(moment, given.resource),
        "resource_id": given.resource,
        "model": given.model,
        "grantor": organization.directory.name(given.grantor) if given.grantor else None,
        "starts": given.starts,
        "ends": given.ends,
        "reason": given.reason,
    }


def _format_resource(moment: Evaluation, id: ResourceId) -> str:
    """Return the name of a resource if the caller may see it, else its id: the name may be newer than the assignment."""
    return full_name(moment.facts, id) if id == moment.facts.organization or moment.sees(id) else id


def _format_subject(organization: Organization, moment: Evaluation, subject: SubjectId) -> str:
    name, team = organization.directory.name(subject), ResourceId(subject)
    if name == subject and team in moment.facts.resources and moment.sees(team):
        return full_name(moment.facts, team)
    return name
