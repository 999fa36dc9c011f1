"""The audit: every change with its actor, endpoint, reason and authorization, and the recorded decisions."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Annotated, Any

from fastapi import Depends, Query, Request
from pydantic import BaseModel, BeforeValidator, Field

from headgate.control.kernel.audit_records import AuditFilter, AuditRecord
from headgate.control.kernel.ports import Authorization, LogEntry
from headgate.control.organizations.organization import Organization
from headgate.control.text.timestamps import parse_timestamp
from headgate.endpoints.common.context import CurrentCaller, CurrentOrganization, deployed
from headgate.endpoints.common.evaluation_time import NEWEST_REVISION, Evaluation, RequestedEvaluation
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.lookup import full_name, require_on_organization, resolve_visible
from headgate.endpoints.common.ndjson import accepts_ndjson_docs, ndjson_response, wants_ndjson
from headgate.endpoints.common.paging import MAX_PAGE
from headgate.endpoints.common.schemas import Called
from headgate.facts.encoding import encode
from headgate.facts.ids import PrincipalId, ResourceId

router = ApiRouter(tags=["audit"])

READ_AUDIT = "organization.read_audit"

_AT_ONCE = 200
"""The number of entries that are read together."""


class AuditAuthorization(BaseModel):
    """An authorization of a change: the action, the access model, the role, and the resource `on` which it is assigned."""

    action: str
    resource: str
    model: str
    role: str
    on: str | None


class AuditEntry(BaseModel):
    """One accepted command, with its actor and its changes.

    `at` is its time (seconds since the epoch), `door` the endpoint, `why` the reason, and `grounds` are the authorizations.
    `names` are the current names for the ids in the entry.
    """

    revision: int
    at: float
    actor: str | None
    command: str
    door: str
    request: str
    token: str | None
    why: str
    grounds: list[AuditAuthorization]
    changes: list[dict[str, Any]]
    names: dict[str, str]


class AuditEntryPage(BaseModel):
    """A page of entries, oldest first. `next` is the `after` of the next page, null at the end."""

    items: list[AuditEntry]
    next: int | None
    revision: int


class AuditDecision(BaseModel):
    """A recorded decision: a denied call or, with `HEADGATE_AUDIT=all`, any decision.

    `at` is in seconds since the epoch, `door` is the endpoint, and `names` are the current names for the ids in the record.
    """

    number: int
    at: float
    principal: str | None
    action: str
    resource: str
    allowed: bool
    revision: int
    model: str
    code: str
    door: str
    request: str
    token: str | None
    names: dict[str, str]


class AuditDecisionPage(BaseModel):
    """A page of decisions, newest first. `next` is the `before` of the next page, null at the end."""

    items: list[AuditDecision]
    next: int | None


def _parse_time(said: object) -> object:
    try:
        return parse_timestamp(said) if isinstance(said, str) and not said.replace(".", "", 1).isdecimal() else said
    except OverflowError as error:
        raise ValueError(str(error)) from None


When = Annotated[
    float,
    BeforeValidator(_parse_time),
    Field(ge=0, le=1e11, description="seconds since the epoch, or a time with its zone as in RFC 3339"),
]
Count = Annotated[int, Query(ge=1, le=MAX_PAGE, description="maximum number of items")]
Word = Annotated[Called, Field(max_length=200)]


class AuditEntryFilter(BaseModel):
    """A filter of audit entries. A field that is None matches every entry; the actor and the resource are ids or names."""

    actor: Word | None = None
    command: Word | None = None
    door: Word | None = None
    resource: Called | None = None
    since: When | None = None
    until: When | None = None

    def has(self, entry: LogEntry) -> bool:
        """Return whether an entry matches. The actor and the resource of the filter must be ids."""
        return (
            self.actor in (None, entry.actor)
            and self.command in (None, entry.command)
            and self.door in (None, entry.origin.door)
            and (self.since is None or self.since <= entry.at)
            and (self.until is None or entry.at < self.until)
            and (self.resource is None or self.resource in _collect_ids(entry))
        )


class AuditDecisionFilter(BaseModel):
    """A filter of decisions. A field that is None matches every decision; the principal and the resource are ids or names."""

    principal: Word | None = None
    action: Word | None = None
    resource: Called | None = None
    allowed: bool | None = None
    door: Word | None = None
    request: Word | None = None
    since: When | None = None
    until: When | None = None


def resolve_entry_filter(
    organization: CurrentOrganization,
    caller: CurrentCaller,
    moment: RequestedEvaluation,
    said: Annotated[AuditEntryFilter, Query()],
) -> AuditEntryFilter:
    """Return the filter of entries, with ids in place of names. Raises `PermissionDeniedError` without `READ_AUDIT`."""
    require_on_organization(organization, caller, READ_AUDIT)
    ids = {"actor": _resolve_principal(organization, said.actor), "resource": _resolve_resource(moment, said.resource)}
    return said.model_copy(update=ids)


def resolve_decision_filter(
    organization: CurrentOrganization,
    caller: CurrentCaller,
    moment: RequestedEvaluation,
    said: Annotated[AuditDecisionFilter, Query()],
) -> AuditFilter:
    """Return the filter of decisions, with ids in place of names. Raises `PermissionDeniedError` without `READ_AUDIT`."""
    require_on_organization(organization, caller, READ_AUDIT)
    # The record of a denial to a caller that may not discover the resource has its full name; all other records have its id.
    resource = _resolve_resource(moment, said.resource)
    found = resource and organization.control.snapshot.resources.get(ResourceId(resource))
    names = (resource, full_name(organization.control.snapshot, found.id)) if resource and found else resource
    ids = {"principal": _resolve_principal(organization, said.principal), "resource": names}
    return AuditFilter(**{**dict(said), **ids})


def _resolve_principal(organization: Organization, name: str | None) -> str | None:
    return name and (organization.directory.find(name) or name)


def _resolve_resource(moment: Evaluation, name: str | None) -> str | None:
    # A deleted resource can still be found by its id.
    return name and (resolve_visible(moment.answers, moment.caller, moment.now, name) or name)


@router.get("/audit", response_model=AuditEntryPage, **accepts_ndjson_docs(READ_AUDIT))
def list_audit_changes(
    request: Request,
    organization: CurrentOrganization,
    moment: RequestedEvaluation,
    entries: Annotated[AuditEntryFilter, Depends(resolve_entry_filter)],
    after: Annotated[int, Query(ge=0, le=NEWEST_REVISION, description="only entries after this revision")] = 0,
    limit: Count = 100,
) -> Any:
    """List the changes, oldest first. With `Accept: application/x-ndjson`, the response has all of them, one per line."""
    newest = moment.facts.revision
    until = (each for each in _take_until(organization.store.entries(after), newest) if entries.has(each))
    if wants_ndjson(request):
        return ndjson_response(_format_entries(organization, until))
    items = list(_format_entries(organization, islice(until, limit + 1)))
    more = len(items) > limit
    return {"items": items[:limit], "next": items[limit - 1]["revision"] if more else None, "revision": newest}


@router.get("/audit/decisions", response_model=AuditDecisionPage, **accepts_ndjson_docs(READ_AUDIT))
def list_audit_decisions(
    request: Request,
    organization: CurrentOrganization,
    asked: Annotated[AuditFilter, Depends(resolve_decision_filter)],
    before: Annotated[
        int | None, Query(ge=0, le=NEWEST_REVISION, description="only decisions with a lower number")
    ] = None,
    limit: Count = 100,
) -> Any:
    """List the denied calls or, with `HEADGATE_AUDIT=all`, all decisions, newest first.

    With `Accept: application/x-ndjson`, the response has all of them, one per line.
    """
    records = partial(deployed(request).organizations.stores.audit_records, organization.id, asked)
    if wants_ndjson(request):
        return ndjson_response(_decision(organization, *each) for each in _in_parts(records, before))
    items = [_decision(organization, *each) for each in records(before, limit + 1)]
    more = len(items) > limit
    return {"items": items[:limit], "next": items[limit - 1]["number"] if more else None}


def _take_until(entries: Iterable[LogEntry], newest: int) -> Iterator[LogEntry]:
    for entry in entries:
        if entry.revision > newest:
            return
        yield entry


def _format_entries(organization: Organization, entries: Iterator[LogEntry]) -> Iterator[dict[str, Any]]:
    while some := list(islice(entries, _AT_ONCE)):
        whys = organization.store.documents("why", [str(each.revision) for each in some])
        yield from (_entry(organization, each, str(whys.get(str(each.revision), {}).get("text", ""))) for each in some)


def _entry(organization: Organization, entry: LogEntry, why: str) -> dict[str, Any]:
    return {
        "revision": entry.revision,
        "at": entry.at,
        "actor": entry.actor,
        "command": entry.command,
        "door": entry.origin.door,
        "request": entry.origin.request,
        "token": entry.origin.token,
        "why": why,
        "grounds": [_ground(each) for each in entry.grounds],
        "changes": [encode(each) for each in entry.changes],
        "names": _names(organization, _collect_ids(entry)),
    }


def _ground(ground: Authorization) -> dict[str, Any]:
    return {
        "action": ground.action,
        "resource": ground.resource,
        "model": ground.model,
        "role": ground.role,
        "on": ground.on,
    }


def _collect_ids(entry: LogEntry) -> set[str]:
    """Return every id in an entry, together with other texts in it."""
    said = {value for each in entry.changes for value in encode(each).values() if isinstance(value, str)}
    asked = {each.resource for each in entry.grounds}
    return {each for each in (*said, *asked, entry.actor) if each}


def _names(organization: Organization, ids: Iterable[str]) -> dict[str, str]:
    facts, directory = organization.control.snapshot, organization.directory
    found = dict[str, str]()
    for id in sorted(ids):
        if PrincipalId(id) in facts.principals or id in facts.groups:
            found[id] = directory.name(PrincipalId(id))
        elif ResourceId(id) in facts.resources:
            found[id] = full_name(facts, ResourceId(id))
    return found


def _decision(organization: Organization, number: int, record: AuditRecord) -> dict[str, Any]:
    return {
        "number": number,
        "at": record.at,
        "principal": record.principal,
        "action": record.action,
        "resource": record.resource,
        "allowed": record.allowed,
        "revision": record.revision,
        "model": record.model,
        "code": record.code,
        "door": record.origin.door,
        "request": record.origin.request,
        "token": record.origin.token,
        "names": _names(organization, {each for each in (record.principal, record.resource) if each}),
    }


def _in_parts(
    records: Callable[[int | None, int], Iterable[tuple[int, AuditRecord]]], before: int | None
) -> Iterator[tuple[int, AuditRecord]]:
    while some := list(records(before, _AT_ONCE)):
        yield from some
        before = some[-1][0]
