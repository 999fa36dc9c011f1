"""The context of a request and its response: its id, and the record for logs and metrics afterwards."""

import asyncio
import itertools
import logging
import re
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headgate.endpoints.common.problems import problem_response
from headgate.endpoints.common.request_scope import CALLER, REQUEST, ROUTE

logger = logging.getLogger("headgate.requests")

EXCHANGE = "headgate.exchange"
"""The key of a scope's `RequestContext`."""
UNMATCHED = "unmatched"

_PROCESS, _NUMBERS = secrets.token_hex(10), itertools.count()
"""Request ids: a random part per process, so that no other process can guess them, and a counter; a random number per
request would cost more."""

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_SANE = re.compile(rb"[A-Za-z0-9._-]{8,64}")

RawHeader = tuple[bytes, bytes]
RawHeaders = list[RawHeader]


@dataclass(slots=True)
class RequestContext:
    """The facts about a request that may be logged; the caller by opaque ids, once an endpoint has identified it.

    `status` is 0 until the response begins; `seconds` is the duration.
    """

    id: str
    method: str
    status: int = 0
    route: str = UNMATCHED
    organization: str | None = None
    principal: str | None = None
    seconds: float = 0.0


class Exchanges:
    """Assigns request ids, adds the common response headers, and notifies the observers when a request is finished.

    An exception without a response becomes a problem document with the request id, and a log line with the details.
    """

    def __init__(
        self,
        app: ASGIApp,
        headers: Callable[[Scope, Iterable[RawHeader]], Iterable[RawHeader]],
        observers: Sequence[Callable[[RequestContext], None]],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._app = app
        self._headers = headers
        self._observers = observers
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = self._clock()
        exchange = RequestContext(request_id(scope), _method(scope["method"]))
        scope[REQUEST], scope[EXCHANGE] = exchange.id, exchange
        name = (b"x-request-id", exchange.id.encode())

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                exchange.status = message["status"]
                own = message.get("headers", ())
                message = {**message, "headers": [*own, name, *self._headers(scope, own)]}
            await send(message)

        try:
            await self._answer(scope, receive, answer, exchange)
        finally:
            exchange.route = route_template(scope)
            exchange.organization, exchange.principal = caller_of(scope)
            exchange.seconds = self._clock() - began
            for observe in self._observers:
                observe(exchange)

    async def _answer(self, scope: Scope, receive: Receive, answer: Send, exchange: RequestContext) -> None:
        try:
            await self._app(scope, receive, answer)
        except asyncio.CancelledError:
            # A request is cancelled only when the server shuts down: the client gets a response that says so.
            if exchange.status:
                raise
            said = "the server is shutting down; retry the request, which may already have had an effect"
            leaving = problem_response(503, "ending", said)
            leaving.headers["retry-after"] = "1"
            await leaving(scope, receive, answer)
        except Exception:
            logger.exception("the request %s failed", exchange.id)
            if not exchange.status:
                said = (
                    "the request failed because of an internal error; ask the operator of this deployment to look for the "
                    f"request `{exchange.id}` in the server's log"
                )
                await problem_response(500, "failed", said)(scope, receive, answer)


def request_id(scope: Scope) -> str:
    """Return the `X-Request-Id` of the client if it is 8 to 64 harmless characters, else a new id."""
    return sane_id(find_header(scope, b"x-request-id"))


def sane_id(given: bytes | None) -> str:
    """Return `given` if it is usable as a request id (8 to 64 letters, digits, `.`, `_`, `-`), else a new id."""
    return given.decode() if given and _SANE.fullmatch(given) else f"{_PROCESS}{next(_NUMBERS):012x}"


def _method(method: str) -> str:
    """Return the method for logs and metrics; `other` for an unknown one, since clients can invent any number of methods."""
    return method if method in _METHODS else "other"


def find_header(scope: Scope, name: bytes) -> bytes | None:
    """Return the value of the first header with that name, or None."""
    for key, value in scope["headers"]:
        if key == name:
            return value
    return None


def route_template(scope: Scope) -> str:
    """Return the template of the route that served a request; a full path may contain confidential names."""
    # FastAPI's context of a route in an included router: the route itself does not know the router's prefix.
    included = scope.get("fastapi", {}).get("effective_route_context")
    named = scope.get(ROUTE) or getattr(included or scope.get("route"), "path_format", None)
    return named if isinstance(named, str) else UNMATCHED


def caller_of(scope: Scope) -> tuple[str | None, str | None]:
    """Return the ids of the organization and the principal that an endpoint has identified."""
    found = scope.get(CALLER)
    return (found[0].id, found[1].principal) if found else (None, None)
