"""Plain writes: a write without options is served without the dependencies of the web framework, which take longer than it.

The ordinary form of the endpoint serves every other request, with the same result: a request with an option, with a cookie or
with an invalid body.
"""

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from fastapi import Request, Response
from fastapi.routing import APIRoute
from typing_extensions import override

from headgate.control.kernel.command import Command
from headgate.control.kernel.metadata import CommandMetadata
from headgate.control.kernel.ports import RequestOrigin
from headgate.control.organizations.organization import Organization
from headgate.endpoints.common.context import access, deployed
from headgate.endpoints.common.cookies import bearer_secret_of
from headgate.endpoints.common.request_scope import REQUEST
from headgate.endpoints.common.versions import set_version
from headgate.endpoints.common.write_queues import SubmittedWrite
from headgate.endpoints.common.writes import Write, WriteAnswer
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId

_HEADERS: Final = frozenset(
    (
        *("accept", "accept-encoding", "accept-language", "authorization", "connection", "content-length"),
        *("content-type", "host", "user-agent", "x-request-id"),
    )
)
"""The headers of a plain request. Any other one may be an option."""

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class PlainWrite:
    """A command, the resource that it is about, and the id in its response."""

    command: Command
    of: ResourceId
    id: str


BuildPlainWrite = Callable[[Organization, Caller], PlainWrite]
"""Resolves the names in a request, which may take long, and returns its command. Raises a `CommandError`."""

ReadPlainWrite = Callable[[Request], Awaitable[BuildPlainWrite | None]]
"""Reads a request; returns None if it is not valid or not plain."""


def plain_form(read: ReadPlainWrite) -> Callable[[F], F]:
    """Return the decorator of an endpoint that has a plain form too."""

    def decorate(endpoint: F) -> F:
        endpoint.__dict__["read_plain_write"] = read
        return endpoint

    return decorate


class PlainWriteRoute(APIRoute):
    """A route that serves plain requests by the plain form of its endpoint, if it has one."""

    @override
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Wrap the route's own handler."""
        ordinary, status = super().get_route_handler(), self.status_code or 200
        read: ReadPlainWrite | None = getattr(self.endpoint, "read_plain_write", None)
        if read is None:
            return ordinary

        async def handle(request: Request) -> Response:
            build = await read(request) if is_plain(request) else None
            return await ordinary(request) if build is None else await _write(request, build, status)

        return handle


def is_plain(request: Request) -> bool:
    """Return whether a request has a bearer token, no header that may be an option, and no header twice."""
    names = request.headers.keys()
    return len(set(names)) == len(names) and _HEADERS.issuperset(names) and bearer_secret_of(request) is not None


async def _write(request: Request, build: BuildPlainWrite, status: int) -> Response:
    organization, caller = await access(request)
    call = CommandMetadata(RequestOrigin("api", str(request.scope.get(REQUEST, "")), caller.token))
    write = Write(organization, caller, Response(), call, dry_run=False, if_match=None, once=None)

    def submit() -> SubmittedWrite:
        plain = build(organization, caller)
        reply = write.reply(plain.of, id=plain.id)
        return SubmittedWrite(reply, organization.control.submit(plain.command, caller, write.call_for(reply)))

    reply = await deployed(request).write_queues.write(organization, submit)
    body = WriteAnswer.model_validate(reply.answer).model_dump_json(exclude_none=True)
    response = Response(body, status, media_type="application/json")
    if "version" in reply.answer:
        set_version(response, reply.answer["version"])
    return response
