"""Plain writes: a write without options is served without the dependencies of the web framework, which take longer than it.

The ordinary form of the endpoint serves every other request, with the same result: a request with an option, with a cookie or
with an invalid body.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import anyio.to_thread
from fastapi import Request, Response
from fastapi.routing import APIRoute
from typing_extensions import override

from headgate.control.command_writer import MAX_GROUP, WriteResult
from headgate.control.control import Control
from headgate.control.kernel.command import Command
from headgate.control.kernel.metadata import CommandMetadata
from headgate.control.kernel.ports import RequestOrigin
from headgate.control.organizations.organization import Organization
from headgate.endpoints.common.context import access
from headgate.endpoints.common.cookies import bearer_secret_of
from headgate.endpoints.common.request_scope import REQUEST
from headgate.endpoints.common.write_responses import WriteResponse
from headgate.endpoints.common.writes import WriteAnswer, WriteFields
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
    origin = RequestOrigin("api", str(request.scope.get(REQUEST, "")), caller.token)

    def submit() -> _Submitted:
        write = build(organization, caller)
        fields: WriteFields = {"id": write.id}
        reply = WriteResponse(organization.store, write.of, fields, None)
        metadata = CommandMetadata(origin, keeps=reply.keeps)
        return _Submitted(reply, organization.control.submit(write.command, caller, metadata))

    queues: WriteQueues = request.app.state.write_queues
    reply = await queues.write(organization, submit)
    body = WriteAnswer.model_validate(reply.answer).model_dump_json(exclude_none=True)
    version = reply.answer.get("version")
    headers = {"etag": f'"{version}"'} if version else None
    return Response(body, status, headers, "application/json")


@dataclass(frozen=True, slots=True)
class _Submitted:
    """The response to a submitted command, and the future of its result."""

    reply: WriteResponse
    result: Future[WriteResult]


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A request that waits for its write."""

    submit: Callable[[], _Submitted]
    done: asyncio.Future[WriteResponse]


_Key = tuple[asyncio.AbstractEventLoop, ResourceId]
"""An event loop, and an organization for which requests wait in it."""


class WriteQueues:
    """Collects the plain writes that wait at the same time, for each organization, and writes them together in a thread."""

    def __init__(self) -> None:
        self._waiting: dict[_Key, deque[_Waiting]] = {}
        self._tasks = set[asyncio.Task[None]]()

    async def write(self, organization: Organization, submit: Callable[[], _Submitted]) -> WriteResponse:
        """Submit a command in a thread, and return its response once it is written. Raises what the command raises."""
        loop = asyncio.get_running_loop()
        waiting, key = _Waiting(submit, loop.create_future()), (loop, organization.id)
        there = self._waiting.get(key)
        if there is None:
            self._waiting[key] = deque((waiting,))
            task = asyncio.create_task(self._serve(key, organization.control))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            there.append(waiting)
        return await waiting.done

    async def _serve(self, key: _Key, control: Control) -> None:
        """Write until nothing waits. If that fails, every waiting request gets the error."""
        waiting: Sequence[_Waiting] = ()
        try:
            while key in self._waiting:
                there = self._waiting[key]
                waiting = [there.popleft() for _ in range(min(len(there), MAX_GROUP))]
                outcomes = await anyio.to_thread.run_sync(_write_together, control, waiting)
                # Before the responses: this task may not run again after them.
                if not self._waiting[key]:
                    del self._waiting[key]
                for each, outcome in zip(waiting, outcomes, strict=True):
                    _report(each, outcome)
        except BaseException as error:
            for each in (*waiting, *self._waiting.pop(key, ())):
                _report(each, error)
            raise


def _report(waiting: _Waiting, outcome: WriteResponse | BaseException) -> None:
    if waiting.done.done():
        return  # the client has gone, or it has its response
    if isinstance(outcome, WriteResponse):
        waiting.done.set_result(outcome)
    else:
        waiting.done.set_exception(outcome)


def _write_together(control: Control, waiting: Sequence[_Waiting]) -> list[WriteResponse | BaseException]:
    """Submit every command, write them, and return their responses or errors."""
    submitted = [_submit(each) for each in waiting]
    while not all(each.result.done() for each in submitted if isinstance(each, _Submitted)):
        control.write_submitted()
    return [each if isinstance(each, Exception) else each.result.exception() or each.reply for each in submitted]


def _submit(waiting: _Waiting) -> _Submitted | Exception:
    try:
        return waiting.submit()
    except Exception as error:  # noqa: BLE001 (the request gets it, and no other one)
        return error
