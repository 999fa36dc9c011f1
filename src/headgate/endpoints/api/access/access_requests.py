"""Access requests: a caller requests an action on a resource by any name, and an approver approves or rejects the request."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from fastapi import Query, Response
from pydantic import BaseModel, Field

from headgate.control.approvals.access_requests import ApproveRequest, FileRequest, RejectRequest, open_requests
from headgate.control.identity.narrowed_callers import is_narrowed
from headgate.control.kernel.errors import NotFoundError
from headgate.control.kernel.ids import new_id
from headgate.control.organizations.organization import Organization
from headgate.control.questions.resource_names import list_candidates
from headgate.endpoints.common.context import CurrentCaller, CurrentOrganization
from headgate.endpoints.common.evaluation_time import CurrentEvaluation
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.lookup import Text, full_name
from headgate.endpoints.common.paging import CurrentPaging, page_of_rows
from headgate.endpoints.common.route_metadata import caller_only, document_actions
from headgate.endpoints.common.schemas import Called, StrictSchema, Time, page_model
from headgate.endpoints.common.versions import approval_version, set_version
from headgate.endpoints.common.writes import DONE, Writes
from headgate.facts.caller import Caller
from headgate.facts.ids import RequestId, ResourceId
from headgate.facts.snapshot import AccessRequest as AccessRequestFact
from headgate.facts.snapshot import Snapshot

router = ApiRouter(tags=["requests"])

_KIND = "request"


class AccessRequestCreate(StrictSchema):
    """An action, the id or full name of a resource that may or may not exist, and the purpose of the request."""

    action: Annotated[Text, Field(min_length=1, max_length=100)]
    resource: Called
    purpose: Annotated[Text, Field(min_length=1, max_length=10_000)]


class AccessRequestApproval(StrictSchema):
    """The end of the access (seconds since the epoch); without `ends`, the access does not expire."""

    ends: Time | None = None


class AccessRequestSummary(BaseModel):
    """An access request. `own`: the caller filed it. `waiting`: the caller could approve it.

    `resource` is the current name of the resource if the caller may see it, else the name in the request.
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
    """An access request, with its version and the revision at which it was read."""

    version: str
    revision: int


_OWN = caller_only("returns only requests that the caller filed or could approve")


@router.get("/requests", response_model=page_model(AccessRequestSummary), **_OWN)
def list_access_requests(
    organization: CurrentOrganization,
    caller: CurrentCaller,
    pages: CurrentPaging,
    which: Annotated[Literal["all", "own", "waiting"], Query()] = "all",
    action: Annotated[Text | None, Query(max_length=100, description="only requests for this action")] = None,
    resource: Annotated[Text | None, Query(max_length=1000, description="only requests for this resource name")] = None,
) -> dict[str, Any]:
    """List the access requests that the caller filed or could approve.

    A refusal links to this route with its `action` and `resource`: the list shows the state of earlier requests for them.
    """
    rows = [
        each
        for each in requests_for(organization, caller)
        if which == "all" or each[which]
        if action in (None, each["action"]) and resource in (None, each["resource"], each["filed"])
    ]
    return page_of_rows(rows, pages, ("state", "resource", "action", "author"), organization.control.snapshot.revision)


@router.post("/requests", status_code=201, **DONE, **caller_only("every caller may request any access, by any name"))
def create_access_request(
    body: AccessRequestCreate, organization: CurrentOrganization, write: Writes
) -> dict[str, Any]:
    """Request access to a resource. The response is the same for a visible, a hidden and a missing resource."""
    id = RequestId(new_id("q"))
    place = _client_network(organization.control.snapshot, body.resource)
    answer = write.execute(FileRequest(id, body.action, place, body.resource, body.purpose), id=id)
    if answer.get("dry_run"):
        # The id of the resource would reveal whether the resource exists.
        answer["changes"] = [{**each, "resource": None} for each in answer["changes"]]
    return answer


@router.get("/requests/{request}", response_model=AccessRequest, **_OWN)
def get_access_request(
    request: Called, organization: CurrentOrganization, moment: CurrentEvaluation, response: Response
) -> dict[str, Any]:
    """Get an access request that the caller filed or could approve."""
    stated = approval_version(organization, moment, ResourceId(request))
    for each in requests_for(organization, moment.caller):
        if each["id"] == request:
            set_version(response, stated)
            return {**each, "version": stated, "revision": moment.facts.revision}
    raise NotFoundError(
        f"there is no request `{request}` that you filed or could approve; `headgate request list` shows those requests. After a request is approved or rejected, only its author sees it"
    )


@router.post("/requests/{request}/approve", **DONE, **document_actions("assignment.add"))
def approve_access_request(request: Called, body: AccessRequestApproval, write: Writes) -> dict[str, Any]:
    """Approve an access request: create those of the missing assignments that the caller may create.

    The request is their reason. If other users must create the rest, the request stays open for them.
    """
    return write.execute(ApproveRequest(RequestId(request), body.ends), of=ResourceId(request), id=request)


@router.post("/requests/{request}/reject", **DONE, **document_actions("assignment.add"))
def reject_access_request(request: Called, write: Writes) -> dict[str, Any]:
    """Reject an access request, or withdraw one of the caller."""
    return write.execute(RejectRequest(RequestId(request)), of=ResourceId(request), id=request)


def requests_for(organization: Organization, caller: Caller) -> Iterator[dict[str, Any]]:
    """Yield the access requests that the caller filed or could approve, as rows."""
    known, waiting = organization.control.snapshot.requests, set(open_requests(organization.control.view(caller)))
    found = {id: each for id, each in known.items() if id in waiting or _is_shown(organization, caller, each)}
    documents = organization.store.documents(_KIND, list(found))
    for id, each in found.items():
        mine = each.author == caller.principal
        row = _row(organization, caller, id, each, documents.get(id, {}))
        yield {**row, "own": mine, "waiting": id in waiting}


def _is_shown(organization: Organization, caller: Caller, request: AccessRequestFact) -> bool:
    """Return whether the caller filed a request, and, if the caller is narrowed, may see its resource."""
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
    """Return the full name of a resource, or None if it is missing or the caller may not see it."""
    facts = organization.control.snapshot
    if resource is None or resource not in facts.resources or not organization.control.is_visible(caller, resource):
        return None
    return full_name(facts, resource)


def _client_network(facts: Snapshot, name: str) -> ResourceId | None:
    return next(list_candidates(facts, name), None)
