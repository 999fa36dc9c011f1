"""The routes of AuthZEN on the bare ASGI interface: a web framework would cost more than the decision.

`headgate.endpoints.authzen.openapi` describes them in the OpenAPI document.
"""

import re
from collections.abc import Iterable
from urllib.parse import quote

import anyio.to_thread
import orjson
from starlette.types import ASGIApp, Receive, Scope, Send

from headgate.control.kernel.audit_records import UNAUTHENTICATED, AuditRecord, Denial
from headgate.control.kernel.ports import RequestOrigin, StoreError
from headgate.control.organizations.organization import Organization
from headgate.decision.types import Decision
from headgate.endpoints.authzen.endpoints import (
    ENDPOINTS,
    JSON,
    TEXT,
    WELL_KNOWN,
    Endpoint,
    Response,
    build_configuration,
    respond,
)
from headgate.endpoints.common.context import AppState
from headgate.endpoints.common.denials import DENIED, record_denial
from headgate.endpoints.common.problems import NO_STORE, RETRY_AFTER, ProblemError
from headgate.endpoints.common.request_scope import ADDRESSED, CALLER, ORGANIZATION_KEY, REQUEST, ROUTE
from headgate.endpoints.http.hosts import base_url
from headgate.facts.caller import Caller

AUTHZEN_ENDPOINT = "authzen"
_DISCOVERED = re.compile(re.escape(WELL_KNOWN) + "(?:/o/[^/]+)?")
_BY_PATH = {each.path: each for each in ENDPOINTS}
_LONG = (b'"explain"', b'"as_of"', b'"at_least"', b"\\u")
"""Parts of a body that make a request slow or make it read the store: it runs in a thread, so that it delays no other.

A JSON escape (`\\u`) can encode a letter of the other words.
"""
_MANY = 4 * 50 + 1
"""A body with more objects is slow: 50 evaluations without defaults have this number."""
_LARGE = 20_000
"""A body of more bytes is slow."""

_NOBODY = Response(401, TEXT, b"the request has no token; send one as `Authorization: Bearer <token>`")
_UNAVAILABLE = Response(503, TEXT, NO_STORE.encode())

_MORE = {401: ((b"www-authenticate", b"Bearer"),), 503: ((b"retry-after", RETRY_AFTER.encode()),)}
"""Additional headers by status."""


class AuthZen:
    """ASGI middleware: answers the requests for AuthZEN, and passes all others to the application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http":
            endpoint = _BY_PATH.get(scope["path"])
            if endpoint is not None and scope["method"] == "POST":
                scope[ROUTE] = endpoint.path
                await _send(await _answer(endpoint, scope, receive), send)
                return
            if _DISCOVERED.fullmatch(scope["path"]) and scope["method"] == "GET":
                scope[ROUTE] = WELL_KNOWN
                await _send(_discovered(scope), send)
                return
        await self._app(scope, receive, send)


async def _answer(endpoint: Endpoint, scope: Scope, receive: Receive) -> Response:
    body = await _body(receive)
    deployed: AppState = scope["app"].state.deployed
    headers = dict(scope["headers"])
    scheme, _, secret = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    if scheme.lower() != "bearer" or not secret:
        await anyio.to_thread.run_sync(record_denial, scope, AUTHZEN_ENDPOINT, Denial(UNAUTHENTICATED))
        return _NOBODY
    try:
        organization, caller = scope[CALLER] = deployed.authenticate(scope.get(ORGANIZATION_KEY), secret)
        said = (endpoint, headers.get(b"content-type", b"").decode("latin-1"), body, organization, caller)
        if is_slow(endpoint, body):
            answer = await anyio.to_thread.run_sync(respond, *said)
        else:
            answer = respond(*said)
    except ProblemError as error:
        if error.status in DENIED:
            scope[ADDRESSED] = error.addressed
            await anyio.to_thread.run_sync(record_denial, scope, AUTHZEN_ENDPOINT, Denial(error.code))
        return Response(error.status, TEXT, str(error).encode())
    except StoreError:
        return _UNAVAILABLE
    record_decisions(
        deployed, organization, caller, answer.decisions, str(scope.get(REQUEST, "")), denials=answer.denials
    )
    return answer


def is_slow(endpoint: Endpoint, body: bytes) -> bool:
    """Whether answering would delay other requests, so that it needs a thread."""
    large = len(body) > _LARGE or body.count(b"{") > _MANY
    return endpoint.long or large or any(word in body for word in _LONG)


def record_decisions(
    deployed: AppState,
    organization: Organization,
    caller: Caller,
    decisions: Iterable[Decision],
    request: str,
    door: str = AUTHZEN_ENDPOINT,
    denials: Iterable[Denial] = (),
) -> None:
    """Record decisions in the audit, as its settings require, and the denials of the caller.

    A decision is recorded with the principal that it is about, or with the caller if there is no such principal.
    """
    audit, everything, counts = deployed.audit, deployed.audit.is_recording_everything, organization.control.counts
    # One record for a question that occurs several times in a request.
    recorded: dict[tuple[str, str, str, bool], Decision] = {}
    for each in decisions:
        counts.count_decision(allowed=each.allowed)
        if everything or not each.allowed:
            question = each.question
            recorded[question.caller.principal, question.action, question.resource, each.allowed] = each
    for each in recorded.values():
        audit.record(organization.id, _build_record(each, caller, organization.control.now, door, request))
    for denial in denials:
        audit.record_denial(organization, caller, denial, door, request)


def _build_record(decision: Decision, caller: Caller, now: float, door: str, request: str) -> AuditRecord:
    question = decision.question
    return AuditRecord(
        at=now,
        principal=question.caller.principal or caller.principal,
        action=question.action,
        resource=question.resource,
        allowed=decision.allowed,
        revision=decision.revision,
        model=decision.model,
        code="" if decision.allowed else "denied" if question.caller.principal else "no-principal",
        origin=RequestOrigin(door, request, caller.token),
    )


def _discovered(scope: Scope) -> Response:
    point = f"{base_url(scope)}{quote(scope['path'].removeprefix(WELL_KNOWN))}"
    return Response(200, JSON, orjson.dumps(build_configuration(point)))


async def _body(receive: Receive) -> bytes:
    message = await receive()
    body: bytes = message.get("body", b"")
    while message.get("more_body"):
        message = await receive()
        body += message.get("body", b"")
    return body


async def _send(answer: Response, send: Send) -> None:
    headers = [(b"content-type", answer.content_type.encode()), (b"content-length", str(len(answer.body)).encode())]
    start = {
        "type": "http.response.start",
        "status": answer.status,
        "headers": [*headers, *_MORE.get(answer.status, ())],
    }
    await send(start)
    await send({"type": "http.response.body", "body": answer.body})
