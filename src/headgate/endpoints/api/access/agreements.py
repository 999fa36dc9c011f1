"""Access to what output ports serve: requests, and the agreements that come of them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
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

router = APIRouter(tags=["access"])

_KIND = "access"

Purpose = Annotated[Text, Field(min_length=1, max_length=10_000)]
State = Literal["requested", "approved", "rejected", "terminated"]


class AgreementRequest(StrictSchema):
    """A consumer - the caller, or a user or team by id or name - asks to read what a port serves, for a purpose."""

    port: Called
    consumer: Called | None = None
    purpose: Purpose


class AgreementDates(StrictSchema):
    """From when until when; from now on, and without an end, where it is not said."""

    starts: Time | None = None
    ends: Time | None = None


class AgreementCreate(AgreementRequest, AgreementDates):
    """An agreement that nobody has asked for."""


class AgreementPatch(AgreementDates):
    """What is to be otherwise; what is left out stays."""

    purpose: Purpose | None = None


class AgreementSummary(BaseModel):
    """A request or agreement. `active` says whether the consumer is served now."""

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
    """A request or agreement, and its version."""

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
    """List the requests and agreements that the caller may see: of a port, of a consumer (an id), or in a state."""
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
    """Ask to read what a port serves. Where the port says so, or the consumer owns it, it is approved at once."""
    id, port = ResourceId(new_id("a")), find_resource(organization, caller, body.port)
    consumer = _consumer(organization, _build_question(caller, "request_access", port, body), body.consumer)
    return write.execute(RequestAccess(id, port, consumer, body.purpose), of=id, id=id)


@router.post("/access/add", status_code=201, **DONE, **document_actions("output_port.add_access"))
def create_agreement(
    body: AgreementCreate, organization: CurrentOrganization, caller: CurrentCaller, write: Writes
) -> dict[str, Any]:
    """Let a consumer read what a port serves without having asked."""
    id, port = ResourceId(new_id("a")), find_resource(organization, caller, body.port)
    consumer = _consumer(organization, _build_question(caller, "add_access", port, body), body.consumer)
    starts = _starts(organization, body.starts)
    return write.execute(AddAccess(id, port, consumer, body.purpose, starts, body.ends), of=id, id=id)


@router.get("/access/{access}", response_model=Agreement, **document_actions(DISCOVER))
def get_agreement(
    access: Called, organization: CurrentOrganization, moment: RequestedEvaluation, response: Response
) -> dict[str, Any]:
    """Show a request or agreement."""
    id, found = moment.record(moment.facts.agreements, access)
    stated = set_approval_etag(response, organization, moment, id)
    document = organization.store.document(_KIND, id) or {}
    row = _row(moment, display_name_for(organization, moment), id, found, document)
    return {**row, "version": stated, "revision": moment.facts.revision}


@router.post("/access/{access}/approve", **DONE, **document_actions("access.approve"))
def approve_agreement(
    access: Called, body: AgreementDates, organization: CurrentOrganization, moment: CurrentEvaluation, write: Writes
) -> dict[str, Any]:
    """Approve a request: the consumer is served from `starts` until `ends`."""
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
    """Give a request another purpose; an agreement also other dates."""
    id, found = moment.record(moment.facts.agreements, access)
    # What is left out stays as it was read: a change in between refuses the write.
    write = replace(write, if_match=write.if_match or approval_version(organization, moment, id))
    purpose = body.purpose or str((organization.store.document(_KIND, id) or {}).get("purpose", ""))
    starts = _starts(organization, body.starts if body.starts is not None else found.starts)
    ends = body.ends if "ends" in body.model_fields_set else found.ends
    return write.execute(EditAccess(id, starts, ends, purpose), of=id, id=id)


@router.post("/access/{access}/terminate", **DONE, **document_actions("access.terminate"))
def terminate_agreement(access: Called, moment: CurrentEvaluation, write: Writes) -> dict[str, Any]:
    """End an agreement now."""
    id, _ = moment.record(moment.facts.agreements, access)
    return write.execute(TerminateAccess(id), of=id, id=id)


@router.delete("/access/{access}", **DONE, **document_actions("access.delete"))
def delete_agreement(access: Called, moment: CurrentEvaluation, write: Writes) -> dict[str, Any]:
    """Delete a request or agreement, with what it gave."""
    id, _ = moment.record(moment.facts.agreements, access)
    return write.execute(DeleteAccess(id), of=id, id=id)


def _build_question(caller: Caller, verb: str, port: ResourceId, body: AgreementRequest) -> Question:
    return Question(caller, f"output_port.{verb}", port, given={"purpose": (body.purpose,)})


def _consumer(organization: Organization, asked: Question, name: str | None) -> SubjectId:
    """Return the consumer that a name means: one that the caller may know of, or for which the caller may do what is asked.

    To any other caller hidden and missing are the same error.
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
