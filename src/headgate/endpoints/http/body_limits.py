"""Limits of request bodies: each body is read once and whole, and refused if too large, slow, deep, wide, or not text."""

import asyncio
import codecs
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headgate.endpoints.common.problems import problem_response
from headgate.endpoints.common.request_scope import KNOWN
from headgate.endpoints.http.limits import Limits
from headgate.endpoints.http.request_context import find_header
from headgate.untrusted_input.json_shape import too_deep, too_wide

_DIGITS = 18
"""A `content-length` with more digits is not parsed as a number."""
_DISCARDED_BYTES: Final = 8 * 1024 * 1024
_DISCARD_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of a body: bytes, nesting depth and members. `known`: whether the request has a valid credential."""

    size: int
    depth: int
    members: int
    known: bool

    def problem(self, status: int, code: str, text: str) -> Response:
        """Return the refusal of a body; it says if the limit is that of requests without a valid credential."""
        help = (
            "; send less in one request"
            if self.known
            else "; this limit applies to requests without a valid credential: send a credential, or a smaller body"
        )
        return problem_response(status, code, f"{text}{help}")


class BodyMiddleware:
    """Passes the application a body that is safe to parse, in one message."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._limits = limits
        self._known = Bounds(limits.body, limits.depth, limits.members, known=True)
        self._unknown = Bounds(
            min(limits.body, limits.unauthenticated_body),
            limits.depth,
            min(limits.members, limits.unauthenticated_members),
            known=False,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        length = find_header(scope, b"content-length")
        if length is None and find_header(scope, b"transfer-encoding") is None:
            await self._app(scope, receive, send)
            return
        bounds = self._known if scope.get(KNOWN) else self._unknown
        try:
            body = await self._read(length, receive, bounds)
        except _UnreadError as unread:
            if find_header(scope, b"expect") is None:
                await _discard(receive)
            unread.answer.headers["connection"] = "close"
            await unread.answer(scope, receive, send)
            return
        if body is not None:
            answer = find_body_fault(body, bounds)
            await (answer or self._app)(scope, _replay(body, receive), send)

    async def _read(self, length: bytes | None, receive: Receive, bounds: Bounds) -> bytes | None:
        """Return the body, or None if the client has disconnected."""
        if length is not None and not length.isdigit():
            raise _UnreadError(
                problem_response(400, "ambiguous", "`content-length` is not a number; send the body's size in bytes")
            )
        if length is not None and (len(length) > _DIGITS or int(length) > bounds.size):
            raise _too_large(bounds)
        seconds = self._limits.body_seconds
        try:
            async with asyncio.timeout(seconds):
                return await _gather(receive, bounds)
        except TimeoutError:
            text = f"the body did not arrive within {seconds:g} seconds; the request had no effect; send it again"
            raise _UnreadError(problem_response(408, "too-slow", text)) from None


async def _gather(receive: Receive, bounds: Bounds) -> bytes | None:
    gathered: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return None
        gathered.append(message.get("body", b""))
        size += len(gathered[-1])
        if size > bounds.size:
            raise _too_large(bounds)
        more = message.get("more_body", False)
    return b"".join(gathered)


async def _discard(receive: Receive) -> None:
    """Discard the rest of a body, within limits: closing earlier would reset the connection and could lose the response."""
    size, more = 0, True
    with suppress(TimeoutError):
        async with asyncio.timeout(_DISCARD_SECONDS):
            while more and size < _DISCARDED_BYTES:
                message = await receive()
                size += len(message.get("body", b""))
                more = message.get("more_body", False)


def _too_large(bounds: Bounds) -> "_UnreadError":
    return _UnreadError(bounds.problem(413, "too-large", f"the body is larger than {bounds.size} bytes"))


class _UnreadError(Exception):
    def __init__(self, answer: Response) -> None:
        super().__init__()
        self.answer = answer


def find_body_fault(body: bytes, bounds: Bounds) -> Response | None:
    """Return the refusal of a complete body, or None if the body is within its limits."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return problem_response(400, "not-text", "the body is not UTF-8; encode it as UTF-8")
    # Some parsers ignore the mark and others reject it: the endpoints of one server would treat the body differently.
    if body.startswith(codecs.BOM_UTF8):
        return problem_response(
            400, "byte-order-mark", "the body begins with a byte order mark; send it as UTF-8 without one"
        )
    # The width is checked first: the check is faster, and it bounds the time of the check of the depth.
    if too_wide(body, bounds.members):
        text = f"the arrays and objects of the body have more than {bounds.members} members in all"
        return bounds.problem(400, "too-wide", text)
    if too_deep(body, bounds.depth):
        text = f"the arrays and objects of the body are nested more than {bounds.depth} levels deep; use fewer levels"
        return problem_response(400, "too-deep", text)
    return None


def _replay(body: bytes, receive: Receive) -> Receive:
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay
