"""A catalog request: its caller, the checks of what the caller may do, and the names in the path."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar
from urllib.parse import unquote_plus

from fastapi import Request

from headgate.control.catalog.tables import is_view
from headgate.control.identity.narrowed_callers import replay_scope
from headgate.control.kernel.audit_records import SUSPENDED, Denial
from headgate.control.kernel.errors import SuspendedError
from headgate.control.kernel.idempotency import IdempotencyKey
from headgate.control.kernel.metadata import CommandMetadata
from headgate.control.kernel.ports import RequestOrigin
from headgate.control.organizations.audit_recorder import AuditRecorder
from headgate.control.organizations.organization import Organization, SeveralOrganizationsError
from headgate.control.questions.hidden_names import Verdict
from headgate.control.questions.operation_names import NeededAction, OperationName
from headgate.endpoints.common.context import CHOOSE_ORGANIZATION
from headgate.endpoints.common.request_scope import ADDRESSED, ORGANIZATION_KEY, REQUEST
from headgate.endpoints.iceberg_rest.catalog_callers import (
    Authenticated,
    AuthenticateRequest,
    CallerDeniedError,
    HttpRequest,
    Lake,
)
from headgate.endpoints.iceberg_rest.errors import (
    SpecError,
    UnderWayError,
    bad_request,
    hidden_error,
    no_such_namespace,
    no_such_table,
    no_such_view,
    nothing_here,
    refusal_error,
)
from headgate.endpoints.iceberg_rest.names import QualifiedName, joined_name, qualified_name
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from headgate.lake.errors import ConflictError, LakeError

LARGEST_BODY = 32 * 1024 * 1024
CATALOG_ENDPOINT = "iceberg"
"""The name of the catalog endpoint in the log of changes and in the audit."""
_LEVELS = "\x1f"
_NAMES = "/v1/namespaces/"
_LONGEST_KEY = 200
_LOST = (ConflictError, UnderWayError)


CatalogAnswer = TypeVar("CatalogAnswer")
Others = ParamSpec("Others")
Act = Callable[Concatenate["CatalogRequest", Others], CatalogAnswer]


def retry_once(act: Act[Others, CatalogAnswer]) -> Act[Others, CatalogAnswer]:
    """Return `act` with idempotency: it is retried once if it lost a race and the request has an `Idempotency-Key`.

    The winner may have been the same request, sent twice at the same moment: then the loser returns the winner's response.
    """

    @wraps(act)
    def carry_out(asking: "CatalogRequest", *args: Others.args, **more: Others.kwargs) -> CatalogAnswer:
        try:
            return act(asking, *args, **more)
        except (LakeError, SpecError) as error:
            if asking.once is None or not (isinstance(error, _LOST) or asking.replayed() is not None):
                raise
            return act(asking, *args, **more)

    return carry_out


@dataclass(frozen=True, slots=True)
class CatalogRequest:
    """A request: its caller, its body, the parts of its path below `/v1/namespaces/`, and its idempotency key (`once`)."""

    who: Authenticated
    body: bytes
    parts: tuple[str, ...]
    request: str = ""
    once: IdempotencyKey | None = None

    @property
    def caller(self) -> Caller:
        """The caller of the request."""
        return self.who.caller

    @property
    def lake(self) -> Lake:
        """The lake of the request."""
        return self.who.lake

    @property
    def organization(self) -> Organization:
        """The organization that the lake belongs to."""
        return self.who.lake.organization

    def command_metadata(self, **made: Any) -> CommandMetadata:
        """Return the metadata of a command: its origin, and its result `made`, to be stored under the `Idempotency-Key`."""
        origin, once = RequestOrigin(CATALOG_ENDPOINT, self.request, self.caller.token), self.once
        if once is None:
            return CommandMetadata(origin)
        kept = once.answer_document(made)
        return CommandMetadata(origin, keeps=lambda _: (kept,))

    def replayed(self) -> Mapping[str, Any] | None:
        """Return the stored result of the same request, sent before with the same `Idempotency-Key`; None if it is new.

        Raises `ReusedKeyError` if the key was used for another request.
        """
        return self.once.stored_answer(self.organization.store) if self.once else None

    def database(self) -> QualifiedName:
        """Return the full name of the database in the path. Raises `SpecError` 404 for a name that cannot exist."""
        name = qualified_name(self.lake.name, tuple(self.parts[0].split(_LEVELS)))
        if name is None:
            raise no_such_namespace(self._display())
        return name

    def table(self, *, view: bool = False) -> QualifiedName:
        """Return the full name of the table or view in the path. Raises `SpecError` 404 for a name that cannot exist."""
        name = qualified_name(self.lake.name, tuple(self.parts[0].split(_LEVELS)), *(self.parts[2:3] or ("",)))
        if name is None:
            raise no_such(self._display(), view=view)
        return name

    def known_database(self, name: QualifiedName) -> ResourceId:
        """Return the database. Raises `SpecError` 404 if it is missing or the caller may not discover it."""
        verdict = self.organization.gate.check(self.caller, "database.describe", name)
        if verdict.resource is None or not verdict.discoverable:
            raise self._hidden(verdict, no_such_namespace(joined_name(name)))
        return verdict.resource

    def require_discoverable(self, name: QualifiedName, missing: SpecError) -> ResourceId:
        """Return the resource with this name, on the newest facts, for a command; raise `missing` if it is hidden or missing."""
        resource = self.organization.gate.discover(self.caller, name).resource
        if resource is None:
            raise hidden_error(self.organization.gate.build_missing_verdict(name), missing)
        return resource

    def require_visible(self, name: QualifiedName, *, view: bool = False) -> ResourceId:
        """Return the table or view. Raises `SpecError` 404 if it is missing or the caller may not discover it."""
        verdict = self.organization.gate.check(self.caller, "table.describe", name)
        resource = verdict.resource
        if resource is None or not verdict.discoverable or self.is_view(resource) is not view:
            raise self._hidden(verdict, no_such(joined_name(name), view=view))
        return resource

    def require_table(self, name: QualifiedName, *actions: str, view: bool = False) -> ResourceId:
        """Return the table or view if one of the actions on it is allowed; else raise the refusal of the first action."""
        missing = no_such(joined_name(name), view=view)
        verdicts = [self.organization.gate.check(self.caller, action, name) for action in actions]
        resource = verdicts[0].resource
        if resource is None or self.is_view(resource) is not view:
            raise hidden_error(verdicts[0], missing)
        if not any(each.allowed for each in verdicts):
            raise refusal_error(verdicts[0], missing)
        return resource

    def require_to_create(self, type: str, database: QualifiedName) -> ResourceId:
        """Return the database if the caller may create a table or view in it; else raise the refusal."""
        return self.require_operation("resource.create", {"parent": OperationName(database, "database")}, type=type)

    def list_needed_actions(
        self, operation: str, places: Mapping[str, OperationName], *, type: str = "table"
    ) -> tuple[NeededAction, ...]:
        """Return the actions that an operation needs; `type` is what it creates, deletes or changes."""
        return self.organization.gate.list_needed_actions(operation, places, type=type)

    def require_operation(
        self, operation: str, places: Mapping[str, OperationName], *, type: str = "table"
    ) -> ResourceId:
        """Return the first resource of the operation if every action that it needs is allowed; else raise the refusal.

        `type` is what the operation creates, deletes or changes: a table, a view or a database.
        """
        found = dict[str, ResourceId]()
        for need in self.list_needed_actions(operation, places, type=type):
            is_table = places[need.place].type == "table"
            found[need.place] = (
                self.require_table(need.names, need.action, view=type == "view")
                if is_table
                else self.require_in(need.names, need.action)
            )
        return found[next(iter(places))]

    def find_replaceable(self, name: QualifiedName, *, type: str) -> ResourceId | None:
        """Return the table or view if the caller may drop it and create another one in its place; else None.

        `CREATE OR REPLACE` needs both; the client sends it as a commit that replaces the content.
        """
        places = {"table": OperationName(name, "table"), "database": OperationName(name[:-1], "database")}
        gate, needs = self.organization.gate, self.list_needed_actions("table.replace", places, type=type)
        verdicts = [(need.place, gate.check(self.caller, need.action, need.names)) for need in needs]
        [resource, *others] = {verdict.resource for place, verdict in verdicts if place == "table"}
        if others or resource is None or self.is_view(resource) is not (type == "view"):
            return None
        return resource if all(verdict.allowed for _, verdict in verdicts) else None

    def require_in(self, database: QualifiedName, action: str) -> ResourceId:
        """Return the database or lake if the action on it is allowed; else raise the refusal."""
        missing = no_such_namespace(joined_name(database) or self.lake.name)
        verdict = self.organization.gate.check(self.caller, action, database)
        if verdict.resource is None:
            raise hidden_error(verdict, missing)
        if not verdict.allowed:
            raise refusal_error(verdict, missing)
        return verdict.resource

    def is_view(self, resource: ResourceId) -> bool:
        """Whether the resource is a view, not a table."""
        found = self.organization.control.snapshot.resources.get(resource)
        return found is not None and is_view(found)

    def record_denial(self, audit: AuditRecorder, denial: Denial) -> None:
        """Record the denial of the request in the audit."""
        audit.record_denial(self.organization, self.caller, denial, CATALOG_ENDPOINT, self.request)

    def _hidden(self, verdict: Verdict, missing: SpecError) -> SpecError:
        """Return the error for a hidden or missing name.

        For a guarded session it is not a denial: the guard decides the statement, and the driver only looks up the name.
        """
        return missing if self.who.guarded else hidden_error(verdict, missing)

    def _display(self) -> str:
        return ".".join((*self.parts[0].split(_LEVELS), *self.parts[2:3]))


def no_such(name: str, *, view: bool) -> SpecError:
    """Return the error for a table or view that is hidden or missing."""
    return no_such_view(name) if view else no_such_table(name)


async def identify_request(request: Request, identify: AuthenticateRequest) -> CatalogRequest:
    """Read a request and identify its caller.

    Raises `SpecError`: 401 for an unknown caller, 403 while the organization is suspended, 413 for a body that is too large.
    """
    body = await _body(request)
    raw_path: bytes = request.scope["raw_path"]
    target = raw_path.decode("ascii", "replace")
    query: bytes = request.scope["query_string"]
    full = f"{target}?{query.decode('ascii', 'replace')}" if query else target
    headers = {key.lower(): value for key, value in request.headers.items()}
    sent = HttpRequest(request.method, full, headers, body, request.scope.get(ORGANIZATION_KEY))
    try:
        who = await identify(sent)
    except SeveralOrganizationsError as error:
        raise bad_request(f"{error}; {CHOOSE_ORGANIZATION}") from None
    except CallerDeniedError as error:
        request.scope[ADDRESSED] = error.addressed
        raise _denied(error.code) from None
    # From the raw path: clients encode a space as `+` and a plus as `%2B`; the decoded path does not distinguish them.
    parts = tuple(unquote_plus(part) for part in target.partition(_NAMES)[2].split("/"))
    if any("/" in part for part in parts):
        # The route was matched on the decoded path, so it may not be the route of these parts.
        raise nothing_here()
    return CatalogRequest(who, body, parts, str(request.scope.get(REQUEST, "")), _once(who, sent))


def _denied(code: str) -> SpecError:
    if code == SUSPENDED:
        return SpecError(403, "ForbiddenException", str(SuspendedError()), Denial(code))
    return SpecError(
        401,
        "NotAuthorizedException",
        (
            "the bearer token is missing, not valid, or not for the organization that the request names; send a valid token of "
            "the organization as `Authorization: Bearer <token>`"
        ),
        Denial(code),
    )


def _once(who: Authenticated, sent: HttpRequest) -> IdempotencyKey | None:
    key = sent.headers.get("idempotency-key")
    if key is None:
        return None
    if not 0 < len(key) <= _LONGEST_KEY:
        raise bad_request(f"the `Idempotency-Key` is empty or too long; send 1 to {_LONGEST_KEY} characters")
    scope = replay_scope(who.lake.organization.control.snapshot, who.caller)
    said = (sent.method, sent.target, sent.body.decode("utf-8", "replace"))
    return IdempotencyKey.digest(("iceberg", scope, key), said)


async def _body(request: Request) -> bytes:
    chunks = bytearray()
    async for chunk in request.stream():
        chunks += chunk
        if len(chunks) > LARGEST_BODY:
            raise SpecError(
                413, "BadRequestException", f"the body is larger than {LARGEST_BODY} bytes; send a smaller request"
            )
    return bytes(chunks)
