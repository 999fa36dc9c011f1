"""Change requests: proposed changes of a resource that another user must approve. The approval makes the change."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import Query, Response
from pydantic import BaseModel

from headgate.control.approvals.change_payload import command_from_payload
from headgate.control.approvals.change_requests import ApproveChange, RejectChange, SubmitChange
from headgate.control.kernel.ids import new_id
from headgate.endpoints.common.context import CurrentOrganization
from headgate.endpoints.common.evaluation_time import CurrentEvaluation, Evaluation, RequestedEvaluation
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.paging import CurrentPaging, page_of_rows
from headgate.endpoints.common.resource_changes import ProposedChange, Prose, parse_proposal
from headgate.endpoints.common.route_metadata import DISCOVER, document_actions
from headgate.endpoints.common.schemas import Called, page_model
from headgate.endpoints.common.subject_lookup import display_name_for
from headgate.endpoints.common.versions import set_approval_etag
from headgate.endpoints.common.writes import DONE, Writes
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import ChangeRequest as ChangeRequestFact

router = ApiRouter(tags=["change requests"])

_KIND = "change_request"

State = Literal["requested", "approved", "rejected"]


class ChangeRequestCreate(ProposedChange):
    """A proposed change of a resource, with the reason."""

    resource: Called
    why: Prose = ""


class ChangeRequestSummary(BaseModel):
    """A change request."""

    id: str
    resource: str
    resource_name: str
    author: str | None
    state: State


class ChangeRequest(ChangeRequestSummary):
    """A change request with its proposed change, in which resources are ids, and its reason."""

    change: dict[str, Any]
    why: str
    version: str
    revision: int


@router.get("/change-requests", response_model=page_model(ChangeRequestSummary), **document_actions(DISCOVER))
def list_change_requests(
    organization: CurrentOrganization,
    moment: RequestedEvaluation,
    pages: CurrentPaging,
    resource: Annotated[Called | None, Query()] = None,
    state: Annotated[State | None, Query()] = None,
) -> dict[str, Any]:
    """List the change requests that the caller may see. Filter them by resource or state."""
    about = moment.resource(resource).id if resource is not None else None
    name = display_name_for(organization, moment)
    rows = [
        _row(moment, name, id, each)
        for id, each in moment.facts.change_requests.items()
        if about in (None, each.resource) and state in (None, each.state) and moment.sees(id)
    ]
    return page_of_rows(rows, pages, ("resource_name", "state", "author"), moment.facts.revision)


@router.post("/change-requests", status_code=201, **DONE, **document_actions("{type}.submit_change"))
def create_change_request(body: ChangeRequestCreate, moment: CurrentEvaluation, write: Writes) -> dict[str, Any]:
    """Submit a change of a resource for approval."""
    found = moment.resource(body.resource)
    said = parse_proposal(moment, ProposedChange(**body.model_dump(exclude={"resource", "why"})))
    command_from_payload(found, said)
    id = ResourceId(new_id("cr"))
    return write.execute(SubmitChange(id, found.id, {"change": dict(said), "why": body.why}), of=id, id=id)


@router.get("/change-requests/{request}", response_model=ChangeRequest, **document_actions(DISCOVER))
def get_change_request(
    request: Called, organization: CurrentOrganization, moment: RequestedEvaluation, response: Response
) -> dict[str, Any]:
    """Get a change request."""
    id, found = moment.record(moment.facts.change_requests, request)
    stated = set_approval_etag(response, organization, moment, id)
    document = organization.store.document(_KIND, id) or {}
    return {
        **_row(moment, display_name_for(organization, moment), id, found),
        "change": document.get("change", {}),
        "why": document.get("why", ""),
        "version": stated,
        "revision": moment.facts.revision,
    }


@router.post("/change-requests/{request}/approve", **DONE, **document_actions("change_request.approve", "{type}.edit"))
def approve_change_request(
    request: Called, organization: CurrentOrganization, moment: CurrentEvaluation, write: Writes
) -> dict[str, Any]:
    """Approve a change request and make the change, at one revision.

    The caller also needs the actions that the change needs.
    """
    id, _ = moment.record(moment.facts.change_requests, request)
    said = (organization.store.document(_KIND, id) or {}).get("change")
    return write.execute(ApproveChange(id, said), of=id, id=id)


@router.post("/change-requests/{request}/reject", **DONE, **document_actions("change_request.reject"))
def reject_change_request(request: Called, moment: CurrentEvaluation, write: Writes) -> dict[str, Any]:
    """Reject a change request."""
    id, _ = moment.record(moment.facts.change_requests, request)
    return write.execute(RejectChange(id), of=id, id=id)


def _row(moment: Evaluation, name: Callable[..., str], id: ResourceId, found: ChangeRequestFact) -> dict[str, Any]:
    return {
        "id": id,
        "resource": found.resource,
        "resource_name": moment.name(found.resource),
        "author": name(found.author, found.author) if found.author else None,
        "state": found.state,
    }
