"""Access agreements for output ports: requests of consumers, and the agreements that approve them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import Query, Response
from pydantic import BaseModel, Field

from headgate.control.approvals.agreements import (
    AddAccess,
    ApproveAccess,
    DeleteAccess,
    EditAccess,
    RejectAccess,
    RequestAccess,
    TerminateAccess,
)
from headgate.control.kernel.errors import NotFoundError
from headgate.control.kernel.ids import new_id
from headgate.control.organizations.organization import Organization
from headgate.decision.types import Question
from headgate.endpoints.common.context import CurrentCaller, CurrentOrganization
from headgate.endpoints.common.evaluation_time import CurrentEvaluation, Evaluation, RequestedEvaluation
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.lookup import Text, find_resource
from headgate.endpoints.common.paging import CurrentPaging, page_of_rows
from headgate.endpoints.common.route_metadata import DISCOVER, document_actions
from headgate.endpoints.common.schemas import Called, StrictSchema, Time, page_model
from headgate.endpoints.common.subject_lookup import display_name_for, find_principal
from headgate.endpoints.common.versions import approval_version, set_approval_etag
from headgate.endpoints.common.writes import DONE, Writes
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId, SubjectId
from headgate.facts.snapshot import Agreement as AgreementFact

router = ApiRouter(tags=["access"])

_KIND = "access"

Purpose = Annotated[Text, Field(min_length=1, max_length=10_000)]
State = Literal["requested", "approved", "rejected", "terminated"]


class AgreementRequest(StrictSchema):
    """A request to read the data of an output port for a purpose.

    `consumer` is a user or team by id or name; the caller if omitted.
    """

    port: Called
    consumer: Called | None = None
    purpose: Purpose


class AgreementDates(StrictSchema):
    """The dates of an agreement (seconds since the epoch). Default: it starts now and does not expire."""

    starts: Time | None = None
    ends: Time | None = None


class AgreementCreate(AgreementRequest, AgreementDates):
    """An agreement without a previous request."""


class AgreementPatch(AgreementDates):
    """Changes of a request or agreement; omitted fields stay unchanged."""

    purpose: Purpose | None = None


class AgreementSummary(BaseModel):
    """A request or agreement. `active`: the consumer may read the data of the port now."""

    id: str
    port: str
    port_name: str
    consumer: str
    consumer_name: str
    author: str | None
    purpose: str
    state: State
    starts: float | None
    ends: float | None
    active: bool


class Agreement(AgreementSummary):
    """A request or agreement, with its version."""

    version: str
    revision: int


Filter = Annotated[Called | None, Query()]


@router.get("/access", response_model=page_model(AgreementSummary), **document_actions(DISCOVER))
def list_agreements(
    organization: CurrentOrganization,
    moment: RequestedEvaluation,
    pages: CurrentPaging,
    port: Filter = None,
    consumer: Filter = None,
    state: Annotated[State | None, Query()] = None,
) -> dict[str, Any]:
    """List the requests and agreements that the caller may see. Filter them by port, consumer (an id) or state."""
    about = moment.resource(port).id if port is not None else None
    found = {
        id: each
        for id, each in moment.facts.agreements.items()
        if about in (None, each.port) and consumer in (None, each.consumer) and state in (None, each.state)
        if moment.sees(id)
    }
    purposes = organization.store.documents(_KIND, list(found))
    name = display_name_for(organization, moment)
    rows = [_row(moment, name, id, each, purposes.get(id, {})) for id, each in found.items()]
    return page_of_rows(rows, pages, ("port_name", "consumer_name", "state", "starts", "ends"), moment.facts.revision)


@router.post("/access", status_code=201, **DONE, **document_actions("output_port.request_access"))
def request_agreement(
    body: AgreementRequest, organization: CurrentOrganization, caller: CurrentCaller, write: Writes
) -> dict[str, Any]:
    """Request to read the data of an output port.

    The request is approved immediately if the port allows that, or if the consumer owns the port.
    """
    id, port = ResourceId(new_id("a")), find_resource(organization, caller, body.port)
    consumer = _consumer(organization, _build_question(caller, "request_access", port, body), body.consumer)
    return write.execute(RequestAccess(id, port, consumer, body.purpose), of=id, id=id)


@router.post("/access/add", status_code=201, **DONE, **document_actions("output_port.add_access"))
def create_agreement(
    body: AgreementCreate, organization: CurrentOrganization, caller: CurrentCaller, write: Writes
) -> dict[str, Any]:
    """Create an agreement without a request: allow a consumer to read the data of an output port."""
    id, port = ResourceId(new_id("a")), find_resource(organization, caller, body.port)
    consumer = _consumer(organization, _build_question(caller, "add_access", port, body), body.consumer)
    starts = _starts(organization, body.starts)
    return write.execute(AddAccess(id, port, consumer, body.purpose, starts, body.ends), of=id, id=id)


@router.get("/access/{access}", response_model=Agreement, **document_actions(DISCOVER))
def get_agreement(
    access: Called, organization: CurrentOrganization, moment: RequestedEvaluation, response: Response
) -> dict[str, Any]:
    """Get a request or agreement."""
    id, found = moment.record(moment.facts.agreements, access)
    stated = set_approval_etag(response, organization, moment, id)
    document = organization.store.document(_KIND, id) or {}
    row = _row(moment, display_name_for(organization, moment), id, found, document)
    return {**row, "version": stated, "revision": moment.facts.revision}


@router.post("/access/{access}/approve", **DONE, **document_actions("access.approve"))
def approve_agreement(
    access: Called, body: AgreementDates, organization: CurrentOrganization, moment: CurrentEvaluation, write: Writes
) -> dict[str, Any]:
    """Approve a request: the consumer may read the data of the port from `starts` until `ends`."""
    id, _ = moment.record(moment.facts.agreements, access)
    return write.execute(ApproveAccess(id, _starts(organization, body.starts), body.ends), of=id, id=id)


@router.post("/access/{access}/reject", **DONE, **document_actions("access.reject"))
def reject_agreement(access: Called, moment: CurrentEvaluation, write: Writes) -> dict[str, Any]:
    """Reject a request."""
    id, _ = moment.record(moment.facts.agreements, access)
    return write.execute(RejectAccess(id), of=id, id=id)


@router.patch("/access/{access}", **DONE, **document_actions("access.edit"))
def update_agreement(
    access: Called, body: AgreementPatch, organization: CurrentOrganization, moment: CurrentEvaluation, write: Writes
) -> dict[str, Any]:
    """Change the purpose of a request or agreement, or the dates of an agreement."""
    id, found = moment.record(moment.facts.agreements, access)
    # Omitted fields keep the values that are read here: if they change before the write, the write is refused.
    write = replace(write, if_match=write.if_match or approval_version(organization, moment, id))
    purpose = body.purpose or str((organization.store.document(_KIND, id) or {}).get("purpose", ""))
    starts = _starts(organization, body.starts if body.starts is not None else found.starts)
    ends = body.ends if "ends" in body.model_fields_set else found.ends
    return write.execute(EditAccess(id, starts, ends, purpose), of=id, id=id)


@router.post("/access/{access}/terminate", **DONE, **document_actions("access.terminate"))
def terminate_agreement(access: Called, moment: CurrentEvaluation, write: Writes) -> dict[str, Any]:
    """Terminate an agreement immediately."""
    id, _ = moment.record(moment.facts.agreements, access)
    return write.execute(TerminateAccess(id), of=id, id=id)


@router.delete("/access/{access}", **DONE, **document_actions("access.delete"))
def delete_agreement(access: Called, moment: CurrentEvaluation, write: Writes) -> dict[str, Any]:
    """Delete a request or agreement. The access that it granted is revoked."""
    id, _ = moment.record(moment.facts.agreements, access)
    return write.execute(DeleteAccess(id), of=id, id=id)


def _build_question(caller: Caller, verb: str, port: ResourceId, body: AgreementRequest) -> Question:
    return Question(caller, f"output_port.{verb}", port, given={"purpose": (body.purpose,)})


def _consumer(organization: Organization, asked: Question, name: str | None) -> SubjectId:
    """Return the consumer of this id or name, if the caller may know of it or may perform the question for it.

    Otherwise a hidden and a missing consumer raise the same `NotFoundError`.
    """
    if name is None:
        return asked.caller.principal
    found = organization.directory.find(name)
    if found is not None and organization.control.ask(replace(asked, on={"consumer": (ResourceId(found),)})).allowed:
        return found
    try:
        return find_principal(organization, asked.caller, name)
    except NotFoundError:
        return find_resource(organization, asked.caller, name)


def _starts(organization: Organization, said: float | None) -> float:
    return organization.control.now if said is None else said


def _row(
    moment: Evaluation,
    name: Callable[..., str],
    id: ResourceId,
    found: AgreementFact,
    document: Mapping[str, Any],
) -> dict[str, Any]:
    now = moment.now
    begun = found.starts is not None and found.starts <= now
    return {
        "id": id,
        "port": found.port,
        "port_name": moment.name(found.port),
        "consumer": found.consumer,
        "consumer_name": name(found.consumer, found.author),
        "author": name(found.author, found.author) if found.author else None,
        "purpose": str(document.get("purpose", "")),
        "state": found.state,
        "starts": found.starts,
        "ends": found.ends,
        "active": found.state == "approved" and begun and (found.ends is None or now < found.ends),
    }
