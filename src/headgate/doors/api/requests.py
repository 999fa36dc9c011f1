"""Asking to be allowed something under any name, and approving it."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from headgate.control.command import MissingError
from headgate.control.ids import new_id
from headgate.control.requests import ApproveRequest, FileRequest, RejectRequest
from headgate.control.token_scope import is_narrowed
from headgate.doors.api.bodies import Called, Page, Strict, Time
from headgate.doors.api.names import ORGANIZATION, Text, called
from headgate.doors.api.paging import Pages, page
from headgate.doors.api.routing import needs, own
from headgate.doors.api.writing import DONE, Writes
from headgate.doors.services import By, Services, Uses
from headgate.facts.caller import Caller
from headgate.facts.ids import RequestId, ResourceId
from headgate.facts.snapshot import Request, Snapshot

router = APIRouter(tags=["requests"])

_KIND = "request"


class NewRequest(Strict):
    """An action on what goes by an id or full name, whether there is such a thing or not, and for which purpose."""

    action: Annotated[Text, Field(min_length=1, max_length=100)]
    resource: Called
    purpose: Annotated[Text, Field(min_length=1, max_length=10_000)]


class Approval(Strict):
    """Until when it is allowed (seconds since the epoch); without an end where it is not said."""

    ends: Time | None = None


class ShownRequest(BaseModel):
    """A request, in the words of who asked. `own` is the caller's, `waiting` one that the caller could approve."""

    id: str
    action: str
    resource: str
    purpose: str
    author: str
    state: Literal["requested", "approved", "rejected"]
    own: bool
    waiting: bool


class OneRequest(ShownRequest):
    """A request, and the revision that it was read at."""

    revision: int


_OWN = own("the caller's own requests, and those that only they, among others, could approve")


@router.get("/requests", response_model=Page[ShownRequest], **_OWN)
def list_requests(
    services: Uses,
    caller: By,
    pages: Pages,
    which: Annotated[Literal["all", "own", "waiting"], Query()] = "all",
    action: Annotated[Text | None, Query(max_length=100, description="only those for this action")] = None,
    resource: Annotated[Text | None, Query(max_length=1000, description="only those on what goes by this name")] = None,
) -> dict[str, Any]:
    """List the caller's own requests, and those that wait for them.

    A refusal leads here, with what it was about: what has become of asking for that, or nothing yet.
    """
    wanted = {key: value for key, value in (("action", action), ("resource", resource)) if value is not None}
    rows = [
        each
        for each in requests_for(services, caller)
        if (which == "all" or each[which]) and wanted.items() <= each.items()
    ]
    return page(rows, pages, ("state", "resource", "action", "author"), services.control.snapshot.revision)


@router.post("/requests", status_code=201, **DONE, **own("anybody may ask for anything, under any name"))
def file_request(body: NewRequest, services: Uses, write: Writes) -> dict[str, Any]:
    """Ask to be allowed something. What is there, hidden or missing is asked for alike, and gives the same answer."""
    id = RequestId(new_id("q"))
    place = _place(services.control.snapshot, body.resource)
    answer = write.send(FileRequest(id, body.action, place, body.resource, body.purpose), id=id)
    if answer.get("dry_run"):
        # Which resource it is about would tell whether there is one.
        answer["changes"] = [{**each, "resource": None} for each in answer["changes"]]
    return answer


@router.get("/requests/{request}", response_model=OneRequest, **_OWN)
def show_request(request: Called, services: Uses, caller: By) -> dict[str, Any]:
    """Show one of the caller's own requests, or one that waits for them."""
    for each in requests_for(services, caller):
        if each["id"] == request:
            return {**each, "revision": services.control.snapshot.revision}
    raise MissingError(f"there is no request `{request}` that is yours or waits for you")


@router.post("/requests/{request}/approve", **DONE, **needs("assignment.add"))
def approve_request(request: Called, body: Approval, write: Writes) -> dict[str, Any]:
    """Make the smallest assignments that allow it, as far as the caller may, with the request as their reason."""
    return write.send(ApproveRequest(RequestId(request), body.ends), id=request)


@router.post("/requests/{request}/reject", **DONE, **needs("assignment.add"))
def reject_request(request: Called, write: Writes) -> dict[str, Any]:
    """Reject it."""
    return write.send(RejectRequest(RequestId(request)), id=request)


def requests_for(services: Services, caller: Caller) -> Iterator[dict[str, Any]]:
    """Yield the caller's own requests, and those that wait for them."""
    known, waiting = services.control.snapshot.requests, set(services.control.waiting(caller))
    found = {id: each for id, each in known.items() if id in waiting or _is_shown(services, caller, each)}
    documents = services.store.documents(_KIND, list(found))
    for id, each in found.items():
        mine = each.author == caller.principal
        yield {**_told(services, id, each, documents.get(id, {})), "own": mine, "waiting": id in waiting}


def _is_shown(services: Services, caller: Caller, request: Request) -> bool:
    """Return whether a request is the caller's own, and about something that a narrowed caller may see."""
    if request.author != caller.principal:
        return False
    narrowed = is_narrowed(services.control.snapshot, caller)
    return not narrowed or (request.resource is not None and services.control.sees(caller, request.resource))


def _told(services: Services, id: RequestId, found: Request, document: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": id,
        "action": found.action,
        "resource": str(document.get("name", "")),
        "purpose": str(document.get("purpose", "")),
        "author": services.directory.name(found.author),
        "state": found.state,
    }


def _place(facts: Snapshot, name: str) -> ResourceId | None:
    return facts.organization if name == ORGANIZATION else next(called(facts, name), None)
