"""Asking to be allowed something under any name, and approving it."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from headgate.control.approvals.access_requests import ApproveRequest, FileRequest, RejectRequest, open_requests
from headgate.control.identity.narrowed_callers import is_narrowed
from headgate.control.kernel.errors import NotFoundError
from headgate.control.kernel.ids import new_id
from headgate.control.organizations.organization import Organization
from headgate.endpoints.common.context import CurrentCaller, CurrentOrganization
from headgate.endpoints.common.evaluation_time import CurrentEvaluation
from headgate.endpoints.common.lookup import ORGANIZATION_NAME, Text, full_name, list_candidates
from headgate.endpoints.common.paging import CurrentPaging, page_of_rows
from headgate.endpoints.common.route_metadata import caller_only, document_actions
from headgate.endpoints.common.schemas import Called, StrictSchema, Time, page_model
from headgate.endpoints.common.versions import approval_version, set_version
from headgate.endpoints.common.writes import DONE, Writes
from headgate.facts.caller import Caller
from headgate.facts.ids import RequestId, ResourceId
from headgate.facts.snapshot import AccessRequest as AccessRequestFact
from headgate.facts.snapshot import Snapshot

router = APIRouter(tags=["requests"])

_KIND = "request"


class AccessRequestCreate(StrictSchema):
    """An action on what goes by an id or full name, whether there is such a thing or not, and for which purpose."""

    action: Annotated[Text, Field(min_length=1, max_length=100)]
    resource: Called
    purpose: Annotated[Text, Field(min_length=1, max_length=10_000)]


class AccessRequestApproval(StrictSchema):
    """Until when it is allowed (seconds since the epoch); without an end where it is not said."""

    ends: Time | None = None


class AccessRequestSummary(BaseModel):
    """A request. `own` is the caller's, `waiting` one that the caller could approve.

    `resource` is the name of what it is about now, to a caller that may see it; to any other, what it was filed under.
    """

    id: str
    action: str
    resource: str
    purpose: str
    author: str
    state: Literal["requested", "approved", "rejected"]
    own: bool
    waiting: bool


class AccessRequest(AccessRequestSummary):
    """A request, its version and the revision that it was read at."""

    version: str
    revision: int


_OWN = caller_only("the caller's own requests, and those that only they, among others, could approve")


@router.get("/requests", response_model=page_model(AccessRequestSummary), **_OWN)
def list_access_requests(
    organization: CurrentOrganization,
    caller: CurrentCaller,
    pages: CurrentPaging,
    which: Annotated[Literal["all", "own", "waiting"], Query()] = "all",
    action: Annotated[Text | None, Query(max_length=100, description="only those for this action")] = None,
    resource: Annotated[Text | None, Query(max_length=1000, description="only those on what goes by this name")] = None,
) -> dict[str, Any]:
    """List the caller's own requests, and those that wait for them.

    A refusal leads here, with what it was about: what has become of asking for that, or nothing yet.
    """
    rows = [
        each
        for each in requests_for(organization, caller)
        if which == "all" or each[which]
        if action in (None, each["action"]) and resource in (None, each["resource"], each["filed"])
    ]
    return page_of_rows(rows, pages, ("state", "resource", "action", "author"), organization.control.snapshot.revision)


@router.post("/requests", status_code=201, **DONE, **caller_only("anybody may ask for anything, under any name"))
def create_access_request(
    body: AccessRequestCreate, organization: CurrentOrganization, write: Writes
) -> dict[str, Any]:
    """Ask to be allowed something. What is there, hidden or missing is asked for alike, and gives the same answer."""
    id = RequestId(new_id("q"))
    place = _client_network(organization.control.snapshot, body.resource)
    answer = write.execute(FileRequest(id, body.action, place, body.resource, body.purpose), id=id)
    if answer.get("dry_run"):
        # Which resource it is about would tell whether there is one.
        answer["changes"] = [{**each, "resource": None} for each in answer["changes"]]
    return answer


@router.get("/requests/{request}", response_model=AccessRequest, **_OWN)
def get_access_request(
    request: Called, organization: CurrentOrganization, moment: CurrentEvaluation, response: Response
) -> dict[str, Any]:
    """Show one of the caller's own requests, or one that waits for them."""
    stated = approval_version(organization, moment, ResourceId(request))
    for each in requests_for(organization, moment.caller):
        if each["id"] == request:
            set_version(response, stated)
            return {**each, "version": stated, "revision": moment.facts.revision}
    raise NotFoundError(f"there is no request `{request}` that is yours or waits for you")


@router.post("/requests/{request}/approve", **DONE, **document_actions("assignment.add"))
def approve_access_request(request: Called, body: AccessRequestApproval, write: Writes) -> dict[str, Any]:
    """Make the smallest assignments that allow it, as far as the caller may, with the request as their reason."""
    return write.execute(ApproveRequest(RequestId(request), body.ends), of=ResourceId(request), id=request)


@router.post("/requests/{request}/reject", **DONE, **document_actions("assignment.add"))
def reject_access_request(request: Called, write: Writes) -> dict[str, Any]:
    """Reject it."""
    return write.execute(RejectRequest(RequestId(request)), of=ResourceId(request), id=request)


def requests_for(organization: Organization, caller: Caller) -> Iterator[dict[str, Any]]:
    """Yield the caller's own requests, and those that wait for them."""
    known, waiting = organization.control.snapshot.requests, set(open_requests(organization.control.view(caller)))
    found = {id: each for id, each in known.items() if id in waiting or _is_shown(organization, caller, each)}
    documents = organization.store.documents(_KIND, list(found))
    for id, each in found.items():
        mine = each.author == caller.principal
        row = _row(organization, caller, id, each, documents.get(id, {}))
        yield {**row, "own": mine, "waiting": id in waiting}


def _is_shown(organization: Organization, caller: Caller, request: AccessRequestFact) -> bool:
    """Return whether a request is the caller's own, and about something that a narrowed caller may see."""
    if request.author != caller.principal:
        return False
    narrowed = is_narrowed(organization.control.snapshot, caller)
    return not narrowed or (request.resource is not None and organization.control.is_visible(caller, request.resource))


def _row(
    organization: Organization, caller: Caller, id: RequestId, found: AccessRequestFact, document: Mapping[str, Any]
) -> dict[str, Any]:
    filed = str(document.get("name", ""))
    return {
        "id": id,
        "action": found.action,
        "resource": _name(organization, caller, found.resource) or filed,
        "filed": filed,
        "purpose": str(document.get("purpose", "")),
        "author": organization.directory.name(found.author),
        "state": found.state,
    }


def _name(organization: Organization, caller: Caller, resource: ResourceId | None) -> str | None:
    """Return the name of a resource that the caller may see."""
    facts = organization.control.snapshot
    if resource is None or resource not in facts.resources or not organization.control.is_visible(caller, resource):
        return None
    return full_name(facts, resource)


def _client_network(facts: Snapshot, name: str) -> ResourceId | None:
    return facts.organization if name == ORGANIZATION_NAME else next(list_candidates(facts, name), None)
