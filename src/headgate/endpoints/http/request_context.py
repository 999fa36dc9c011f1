"""One request and its answer: the id they go by, and what is told of them afterwards."""

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
"""Where a scope keeps what will be told of it."""
UNMATCHED = "unmatched"

_PROCESS, _NUMBERS = secrets.token_hex(10), itertools.count()
"""Ids are not to be guessed across processes, and to be told apart; chance for each would cost more."""

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_SANE = re.compile(rb"[A-Za-z0-9._-]{8,64}")

RawHeader = tuple[bytes, bytes]
RawHeaders = list[RawHeader]


@dataclass(slots=True)
class RequestContext:
    """What may be told of a request and its answer: who asked, by opaque ids, once an endpoint knew.

    `status` is 0 until the answer begins; `seconds` is how long it took.
    """

    id: str
    method: str
    status: int = 0
    route: str = UNMATCHED
    organization: str | None = None
    principal: str | None = None
    seconds: float = 0.0


class Exchanges:
    """Gives each request its id, each answer its headers, and tells the observers when it is over.

    What goes wrong without an answer becomes a problem that names the request, and a line of the log that says more.
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
            # Only a server that ends gives up a request: whoever sent it hears that.
            if exchange.status:
                raise
            leaving = problem_response(503, "ending", "this process ends, and did not get that done; ask again")
            leaving.headers["retry-after"] = "1"
            await leaving(scope, receive, answer)
        except Exception:
            logger.exception("the request %s failed", exchange.id)
            if not exchange.status:
                said = f"this failed here; the server's log says why, under the request `{exchange.id}`"
                await problem_response(500, "failed", said)(scope, receive, answer)


def request_id(scope: Scope) -> str:
    """Return the id that the client gave if it is a sane word, else a new one."""
    return sane_id(find_header(scope, b"x-request-id"))


def sane_id(given: bytes | None) -> str:
    """Return this as a request's id if it is a sane word, else a new one."""
    return given.decode() if given and _SANE.fullmatch(given) else f"{_PROCESS}{next(_NUMBERS):012x}"


def _method(method: str) -> str:
    """Return the method by which a request is told of: clients can make up any number of them."""
    return method if method in _METHODS else "other"


def find_header(scope: Scope, name: bytes) -> bytes | None:
    """Return the first header of that name, or None."""
    for key, value in scope["headers"]:
        if key == name:
            return value
    return None


def route_template(scope: Scope) -> str:
    """Return the template of the route that served a request; a path itself may name what is nobody's business."""
    # What FastAPI knows of a route in a router that another includes: the route itself does not know its prefix.
    included = scope.get("fastapi", {}).get("effective_route_context")
    named = scope.get(ROUTE) or getattr(included or scope.get("route"), "path_format", None)
    return named if isinstance(named, str) else UNMATCHED


def caller_of(scope: Scope) -> tuple[str | None, str | None]:
    """Return the organization and the principal that an endpoint has found, by their ids."""
    found = scope.get(CALLER)
    return (found[0].id, found[1].principal) if found else (None, None)
