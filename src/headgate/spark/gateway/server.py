"""The gateway's server: every call is authenticated, checked, put into the caller's name and only then passed on."""

import asyncio
import inspect
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Self

import grpc
import grpc.aio

from headgate.facts.caller import Caller
from headgate.spark.gateway.admission import Admitted, admit, inspector
from headgate.spark.gateway.backend import CHANNEL_OPTIONS, Backend, Driver
from headgate.spark.gateway.bindings import Bindings
from headgate.spark.gateway.errors import (
    STATUS_KEY,
    GatewayError,
    InvalidRequestError,
    RefusedError,
    UnauthenticatedError,
    UnavailableError,
    status_details,
)
from headgate.spark.gateway.identity import SessionKey, bearer_token, uuid_text
from headgate.spark.gateway.rpcs import CLONE_SESSION, RELEASE_SESSION, RPCS, Rpc
from headgate.spark.gateway.rules import MayRead, Reader
from headgate.spark.sessions import Sessions
from headgate.spark.statements import NOT_READY

Authenticate = Callable[[str], Caller | Awaitable[Caller | None] | None]
Context = grpc.aio.ServicerContext[Any, Any]

_RECHECK_SECONDS: Final = 5.0
"""How often a token is looked at again while results stream."""


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """Where the gateway listens. Port 0 takes a free one. Without TLS it may only be a loopback address."""

    host: str = "127.0.0.1"
    port: int = 15002


@dataclass(slots=True)
class _Call:
    """A call under way: which, by whom, and the connection that serves it."""

    rpc: Rpc
    context: Context
    token: str
    caller: Caller
    backend: Backend


class Gateway:
    """A Spark Connect server that passes on what Headgate allows.

    `authenticate` is asked at every call. `may_read` is asked on another thread. The event loop must be running when
    `start` is awaited, and stays the gateway's.
    """

    def __init__(
        self,
        settings: GatewaySettings,
        authenticate: Authenticate,
        may_read: MayRead,
        sessions: Sessions,
        driver: Driver,
    ) -> None:
        self._settings = settings
        self._authenticate = authenticate
        self._may_read = may_read
        self._driver = driver
        self._bindings = Bindings(sessions)
        self._inspector = inspector()
        self._server: grpc.aio.Server | None = None
        self._backend: Backend | None = None

    async def start(self) -> int:
        """Listen, and return the port. Raises `RuntimeError` if the port is taken."""
        self._server = grpc.aio.server(options=(*CHANNEL_OPTIONS, ("grpc.so_reuseport", 0)))
        self._server.add_generic_rpc_handlers((_Router(self),))
        port = self._server.add_insecure_port(f"{self._settings.host}:{self._settings.port}")
        await self._server.start()
        return port

    async def stop(self, grace: float | None = None) -> None:
        """Take no more calls, give those under way `grace` seconds, and close the way to the driver."""
        if self._server is not None:
            await self._server.stop(grace)
        if self._backend is not None:
            await self._backend.close()
        self._inspector.shutdown(wait=False)

    async def answer(self, rpc: Rpc, data: bytes, context: Context) -> bytes:
        """Serve a call of one request and one answer."""
        async with _Answering(context) as answering:
            call = answering.call = await self._begin(rpc, context)
            admitted = await self._admit(call, data)
            self._bindings.checkpoints(admitted.key).admit(admitted.request, admitted.named)
            if rpc is RELEASE_SESSION:
                return await self._bindings.release(admitted.key, lambda: _send(call, admitted))
            if rpc is CLONE_SESSION:
                return await self._clone(call, admitted)
            return await _send(call, admitted)
        raise AssertionError("an aborted call goes no further")

    async def answer_stream(self, rpc: Rpc, data: bytes, context: Context) -> None:
        """Serve a call with a stream of answers, no faster than the client takes them."""
        async with _Answering(context) as answering:
            call = answering.call = await self._begin(rpc, context)
            admitted = await self._admit(call, data)
            checkpoints = self._bindings.checkpoints(admitted.key)
            note = checkpoints.note if checkpoints.admit(admitted.request, admitted.named) else None
            answers = call.backend.stream(rpc, admitted.request.SerializeToString())
            try:
                await self._relay(call, admitted.key, answers, note)
            finally:
                answers.cancel()

    async def take_stream(self, rpc: Rpc, requests: AsyncIterator[bytes], context: Context) -> bytes:
        """Serve a call with a stream of requests, all of one session."""
        async with _Answering(context) as answering:
            call = answering.call = await self._begin(rpc, context)
            upload = call.backend.upload(rpc)
            try:
                return await self._upload(call, requests, upload)
            finally:
                upload.cancel()
        raise AssertionError("an aborted call goes no further")

    async def refuse(self, name: str, context: Context) -> None:
        """End a call that is not in the table."""
        async with _Answering(context):
            await self._identify(bearer_token(context.invocation_metadata() or ()))
            raise RefusedError(f"the call `{name}` is not allowed: Headgate does not know it")

    async def _begin(self, rpc: Rpc, context: Context) -> _Call:
        token = bearer_token(context.invocation_metadata() or ())
        caller = await self._identify(token)
        return _Call(rpc, context, token, caller, await self._reach())

    async def _identify(self, token: str) -> Caller:
        found = self._authenticate(token)
        caller = await found if inspect.isawaitable(found) else found
        if caller is None:
            raise UnauthenticatedError("the token is not valid; ask for a new one")
        return caller

    async def _reach(self) -> Backend:
        """Return the connection to the driver's present start."""
        driver, backend = self._driver, self._backend
        if not driver.ready:
            raise UnavailableError(NOT_READY)
        if backend is not None and backend.generation == driver.generation:
            return backend
        self._backend = Backend(driver)
        if backend is not None:
            await backend.close()
        return self._backend

    async def _admit(self, call: _Call, data: bytes) -> Admitted:
        """Check a request, and see to it that its session is signed."""
        admitted = await self._inspect(call, data)
        if call.rpc.opens:
            await self._bindings.ensure(admitted.key, call.caller, call.backend)
        for query in admitted.unseen:
            await call.backend.analyse(admitted.key, query)
        return admitted

    async def _inspect(self, call: _Call, data: bytes) -> Admitted:
        reader = Reader(call.caller, self._may_read)
        return await asyncio.get_running_loop().run_in_executor(self._inspector, admit, call.rpc, data, reader)

    async def _clone(self, call: _Call, admitted: Admitted) -> bytes:
        request = admitted.request
        request.new_session_id = uuid_text(request.new_session_id or str(uuid.uuid4()), "new session id")
        key = SessionKey(admitted.key.user, request.new_session_id)
        return await self._bindings.clone(key, call.caller, call.backend, lambda: _send(call, admitted))

    async def _relay(
        self, call: _Call, key: SessionKey, answers: AsyncIterator[bytes], note: Callable[[bytes], None] | None
    ) -> None:
        checked = time.monotonic()
        async for message in answers:
            if time.monotonic() - checked > _RECHECK_SECONDS:
                await self._identify(call.token)
                self._bindings.touch(key)
                checked = time.monotonic()
            if note is not None:
                note(message)
            await call.context.write(message)

    async def _upload(self, call: _Call, requests: AsyncIterator[bytes], upload: Any) -> bytes:
        key: SessionKey | None = None
        async for data in requests:
            admitted = await (self._admit(call, data) if key is None else self._inspect(call, data))
            if key not in (None, admitted.key):
                raise InvalidRequestError("all requests of one upload must be of one session")
            key = admitted.key
            try:
                await upload.write(admitted.request.SerializeToString())
            except asyncio.InvalidStateError:
                break  # the driver has answered already, most likely with an error
        await upload.done_writing()
        return await upload


async def _send(call: _Call, admitted: Admitted) -> bytes:
    return await call.backend.unary(call.rpc, admitted.request.SerializeToString())


class _Answering:
    """Ends a call with the status that its exception stands for."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.call: _Call | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if isinstance(error, grpc.aio.AioRpcError) and self.call is not None:
                code, details, rich = self.call.backend.explain(error)
                await self._context.abort(code, details, rich)
        except UnavailableError as unavailable:
            error = unavailable
        if isinstance(error, GatewayError):
            await self._context.abort(error.code, error.message, ((STATUS_KEY, status_details(error)),))


class _Router(grpc.GenericRpcHandler):
    """Finds the gateway's method for a call. Bytes go in and come out: nothing is parsed on the way."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        """Return the handler of a call."""
        path = handler_call_details.method
        rpc = RPCS.get(path)
        if rpc is None:
            return grpc.stream_stream_rpc_method_handler(_refusing(self._gateway, path))
        if rpc.streams_out:
            return grpc.unary_stream_rpc_method_handler(_streaming(self._gateway, rpc))
        if rpc.streams_in:
            return grpc.stream_unary_rpc_method_handler(_taking(self._gateway, rpc))
        return grpc.unary_unary_rpc_method_handler(_answering(self._gateway, rpc))


def _answering(gateway: Gateway, rpc: Rpc) -> Any:
    async def handle(data: bytes, context: Context) -> bytes:
        return await gateway.answer(rpc, data, context)

    return handle


def _streaming(gateway: Gateway, rpc: Rpc) -> Any:
    async def handle(data: bytes, context: Context) -> None:
        await gateway.answer_stream(rpc, data, context)

    return handle


def _taking(gateway: Gateway, rpc: Rpc) -> Any:
    async def handle(requests: AsyncIterator[bytes], context: Context) -> bytes:
        return await gateway.take_stream(rpc, requests, context)

    return handle


def _refusing(gateway: Gateway, path: str) -> Any:
    async def handle(_requests: AsyncIterator[bytes], context: Context) -> None:
        await gateway.refuse(path.rpartition("/")[2], context)

    return handle
