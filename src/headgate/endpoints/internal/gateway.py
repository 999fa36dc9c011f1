"""The endpoint of the gateway: its questions, on a separate port and with a key that only the gateway has."""

import hmac
from collections.abc import Awaitable, Callable
from typing import Any

import anyio.to_thread
from pydantic import TypeAdapter, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from headgate.control.kernel.audit_records import REFUSED, SUSPENDED, UNAUTHENTICATED, Denial
from headgate.control.kernel.errors import SuspendedError
from headgate.control.kernel.ports import StoreError
from headgate.control.organizations.organization import SeveralOrganizationsError
from headgate.endpoints.http.read_your_writes import FreshnessBarrier, FreshnessMiddleware
from headgate.spark.authority import (
    AdmittedCaller,
    OperationReport,
    PresentedCredential,
    StaleDriverError,
    UnknownCredentialError,
)
from headgate.spark.authority_messages import Authenticate, Close, DecideMessage, MayAccessMessage, Open, message_path
from headgate.spark.deciding_authority import DecidingAuthority, ResolvedCredential
from headgate.spark.sessions.sessions import TooManySessionsError

AtHand = Callable[[PresentedCredential], ResolvedCredential | None]
"""Returns the caller of a credential if that needs no lookup, else None; never blocks."""
RecordDenial = Callable[[PresentedCredential, Denial], None]
"""Records in the audit that a call with a credential was denied. It may wait for the store."""
_CALL = "spark.connect"
"""The action in the audit's record of an unknown caller."""
_Answer = Callable[[Any], Awaitable[Any]]

_STATUS: dict[type[Exception], int] = {
    SeveralOrganizationsError: 400,
    SuspendedError: 409,
    ValidationError: 422,
    UnknownCredentialError: 401,
    TooManySessionsError: 429,
    StaleDriverError: 503,
    StoreError: 503,
}
_ANY = TypeAdapter(Any)


def gateway_application(
    authority: DecidingAuthority,
    at_hand: AtHand,
    key: str,
    freshness: FreshnessBarrier,
    record_denial: RecordDenial = lambda *_: None,
) -> ASGIApp:
    """Return the ASGI application that answers the gateway. Every request must carry the key; it has no other endpoint."""

    async def authenticate(asked: Authenticate) -> AdmittedCaller | None:
        # Runs at every call: a thread is used only if the lookup may block.
        known = at_hand(asked.credential)
        if known is not None:
            return authority.admission(known)
        return await anyio.to_thread.run_sync(looked_up, asked.credential)

    def looked_up(credential: PresentedCredential) -> AdmittedCaller | None:
        try:
            found = authority.authenticate(credential)
        except SuspendedError:
            record_denial(credential, Denial(SUSPENDED, _CALL))
            raise
        if found is None:
            record_denial(credential, Denial(UNAUTHENTICATED, _CALL))
        return found

    def may_touch(asked: MayAccessMessage) -> bool:
        allowed = authority.may_access(asked.credential, asked.action, asked.path)
        if not allowed:
            # Without the path: it can hold a secret.
            record_denial(asked.credential, Denial(REFUSED, asked.action))
        return allowed

    def open_session(asked: Open) -> Any:
        return authority.open(asked.credential, asked.session_id, asked.driver, asked.generation)

    answers: dict[Any, _Answer] = {
        Authenticate: authenticate,
        Open: _aside(open_session),
        Close: _aside(lambda asked: authority.close(asked.handle)),
        MayAccessMessage: _aside(may_touch),
        DecideMessage: _aside(lambda asked: authority.refusal(asked.running)),
        OperationReport: _aside(authority.report),
    }
    routes = [
        Route(message_path(kind), _route(kind, answer, key), methods=["POST"]) for kind, answer in answers.items()
    ]
    return FreshnessMiddleware(Starlette(routes=routes), freshness)


def _route(kind: Any, answer: _Answer, key: str) -> Callable[[Request], Awaitable[Response]]:
    asked, expected = TypeAdapter(kind), f"Bearer {key}".encode()

    async def serve(request: Request) -> Response:
        if not hmac.compare_digest(request.headers.get("authorization", "").encode(), expected):
            return Response(status_code=403)
        try:
            found = await answer(asked.validate_json(await request.body()))
        except tuple(_STATUS) as error:
            status = next(status for kind, status in _STATUS.items() if isinstance(error, kind))
            return Response(str(error), status)
        return Response(_ANY.dump_json(found), media_type="application/json")

    return serve


def _aside(answer: Callable[[Any], Any]) -> _Answer:
    """Return `answer` as a coroutine that runs it in a thread, since it may wait for the store."""

    async def serve(asked: Any) -> Any:
        return await anyio.to_thread.run_sync(answer, asked)

    return serve
