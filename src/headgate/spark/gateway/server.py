"""The gateway's gRPC server: it authenticates and checks every call, and sends it to the driver with the caller's identity."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import grpc
import grpc.aio

from headgate.control.text.error_text import mask
from headgate.facts.caller import Caller
from headgate.spark.authority import STREAM, AdmittedCaller, Authority, PresentedCredential, Running
from headgate.spark.gateway.admission import Admitted
from headgate.spark.gateway.arrow_rows import ArrowRows
from headgate.spark.gateway.artifact_names import name_asked_artifacts, restore_statuses, restore_summaries
from headgate.spark.gateway.call import ActiveCall, CallContext, CallLifecycle
from headgate.spark.gateway.call_identity import SessionKey, credential_of_call, uuid_text
from headgate.spark.gateway.call_slots import Calls
from headgate.spark.gateway.driver_channel import CHANNEL_OPTIONS, Backends, analysis_of, is_mistake, is_released
from headgate.spark.gateway.error_scrubber import scrub_chain
from headgate.spark.gateway.errors import (
    InvalidRequestError,
    NoOperationError,
    NoSessionError,
    RequestRefusedError,
    UnavailableError,
    UnknownTokenError,
)
from headgate.spark.gateway.inspection_queue import INSPECTION_SECONDS, Inspections
from headgate.spark.gateway.interrupts import Interrupts
from headgate.spark.gateway.metrics import GatewayCounts
from headgate.spark.gateway.operations import RETAINED_BYTES, Operation, Operations
from headgate.spark.gateway.relay import Relay
from headgate.spark.gateway.revocation_watch import RevocationWatch
from headgate.spark.gateway.router import Router
from headgate.spark.gateway.rpcs import (
    ANALYZE_PLAN,
    ARTIFACT_STATUS,
    CLONE_SESSION,
    CONFIG_RPC,
    FETCH_ERROR_DETAILS,
    REATTACH_EXECUTE,
    RELEASE_EXECUTE,
    RELEASE_SESSION,
    Rpc,
)
from headgate.spark.gateway.session_bindings import Binding, Bindings
from headgate.spark.gateway.session_settings import add_warnings, count_own_settings
from headgate.spark.gateway.upload_budget import Share, UploadBudget
from headgate.spark.gateway.uploads import Upload
from headgate.spark.sql.statements import NOT_READY
from headgate.untrusted_input.errors import ParsersBusyError
from headgate.untrusted_input.pool import ParserPool

_OF_ROWS: Final = frozenset({"last_progress", "recent_progress", "explain"})
"""Commands that reveal rows of a stream. After a revocation, its owner may still ask for its state and error."""
_LOOPBACK: Final = "127.0.0.1"
_CALLS_AT_ONCE: Final = 4096
_WINDOW_BYTES: Final = 64 * 1024
"""The bytes that a client may send in a call before the gateway reads them, and so before it knows the caller.

This also limits the bytes in one round trip of an upload in small parts.
"""
_PART_SECONDS: Final = 60.0
"""The time limit for each part of an upload, and for the end of the requests of a call."""
_REQUEST_SECONDS: Final = 600.0
"""The time limit for the only request of a call: 128 MiB take this long at 2 Mbit/s."""
_SERVER_OPTIONS: Final = (
    *CHANNEL_OPTIONS,
    ("grpc.so_reuseport", 0),
    # With a probe of the bandwidth, the window would begin at 4 MiB and grow.
    ("grpc.http2.bdp_probe", 0),
    ("grpc.http2.lookahead_bytes", _WINDOW_BYTES),
    # One connection must not use up all calls. Clients queue further calls until a running one ends.
    ("grpc.max_concurrent_streams", _CALLS_AT_ONCE // 4),
    # Detects a client whose machine has disappeared, so that its operations are not kept.
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
)


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """The addresses on which the gateway listens: the public port, with TLS if `credentials` are set, and the inner port.

    The inner port is on loopback without TLS. Port 0 selects a free port. If the public port is already on loopback
    without TLS, it serves as both.
    """

    host: str = _LOOPBACK
    port: int = 15002
    inner_port: int = 0
    credentials: grpc.ServerCredentials | None = None


class Gateway:
    """A Spark Connect proxy that relays only what Headgate allows.

    It sends a question to `authority` at every call. `start` binds the gateway to the running event loop.
    """

    def __init__(self, settings: GatewaySettings, authority: Authority) -> None:
        self._settings = settings
        self._authority = authority
        self._counts = GatewayCounts()
        self._backends = Backends()
        self._bindings = Bindings(authority)
        self._operations = Operations()
        self._interrupts = Interrupts(self._operations)
        self._calls = Calls(self._operations)
        self.watch = RevocationWatch(authority, self._bindings, self._operations, self._interrupts, self._counts)
        self._relay = Relay(self._operations, self._interrupts, self._counts, self.watch.require_current)
        self._inspections = Inspections()
        self._parsers = ParserPool()
        self._rows = ArrowRows(self._parsers)
        self._budget = UploadBudget()
        self._server: grpc.aio.Server | None = None

    async def start(self) -> tuple[int, int]:
        """Listen, and return the public port and the inner port. Raises `RuntimeError` if one is in use."""
        self._server = grpc.aio.server(options=_SERVER_OPTIONS, maximum_concurrent_rpcs=_CALLS_AT_ONCE)
        self._server.add_generic_rpc_handlers((Router(self),))
        ports = self._listen(self._server)
        await self._server.start()
        with suppress(ParsersBusyError):  # retried at the first upload
            await self._parsers.start()
        self.watch.start()
        return ports

    async def stop(self, grace: float | None = None) -> None:
        """Accept no more calls, let running ones finish within `grace` seconds, and close the connections to the drivers."""
        if self._server is not None:
            await self._server.stop(grace)
        await self.watch.stop()
        await self._interrupts.close()
        await self._calls.close()
        await self._backends.close()
        self._inspections.close()
        self._parsers.close()

    def _listen(self, server: grpc.aio.Server) -> tuple[int, int]:
        settings = self._settings
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        address = f"{host}:{settings.port}"
        if settings.credentials is not None:
            port = server.add_secure_port(address, settings.credentials)
        else:
            port = server.add_insecure_port(address)
            if settings.host in (_LOOPBACK, "0.0.0.0"):  # noqa: S104 (compared with)
                return port, port
        return port, server.add_insecure_port(f"{_LOOPBACK}:{settings.inner_port}")

    async def answer(self, rpc: Rpc, requests: AsyncIterator[bytes], context: CallContext) -> bytes:
        """Serve a call with one request and one response. The request is received only after authentication."""
        async with CallLifecycle(rpc.name, context, self._counts) as answering:
            call = answering.call = self._find_begun(rpc, context) or await self._begin(context)
            with self._budget.share(call.caller.principal) as share:
                admitted, binding = await self._admit(rpc, call, await _only(requests), share)
                binding.checkpoints.admit(admitted.request, admitted.references.named)
                return await self._answer(rpc, call, admitted, binding)
        raise AssertionError("internal error: an aborted call continued; report it")

    async def _answer(self, rpc: Rpc, call: ActiveCall, admitted: Admitted, binding: Binding) -> bytes:
        if rpc is RELEASE_SESSION:
            return await self._release_session(call, admitted)
        if rpc is CLONE_SESSION:
            return await self._clone(rpc, call, admitted)
        if rpc is RELEASE_EXECUTE:
            return await self._release(call, admitted, binding)
        if rpc is CONFIG_RPC:
            count_own_settings(admitted.request, binding.own_settings)
            answer = await binding.reads.answer(admitted.request, lambda: self._send(rpc, call, admitted, binding))
            return add_warnings(answer, admitted.warnings)
        if rpc is ARTIFACT_STATUS:
            async with self._calls.statuses.hold(call.caller.principal):
                return await self._artifact_statuses(call, admitted, binding)
        answer = await self._send(rpc, call, admitted, binding)
        return scrub_chain(answer) if rpc is FETCH_ERROR_DETAILS else answer

    async def _artifact_statuses(self, call: ActiveCall, admitted: Admitted, binding: Binding) -> bytes:
        """Return which artifacts exist. A thread replaces their names, because they may be many."""
        asked = await asyncio.to_thread(name_asked_artifacts, admitted.request)
        answer = await self._send(ARTIFACT_STATUS, call, admitted, binding)
        return await asyncio.to_thread(restore_statuses, answer, asked)

    async def answer_stream(self, rpc: Rpc, requests: AsyncIterator[bytes], context: CallContext) -> None:
        """Serve a call with one request and a stream of responses, no faster than the client reads them."""
        async with CallLifecycle(rpc.name, context, self._counts) as answering:
            call = answering.call = await self._begin(context)
            # Held until the call ends, because the request stays in memory until then.
            with self._budget.share(call.caller.principal) as share:
                admitted, binding = await self._admit(rpc, call, await _only(requests), share)
                note = (
                    binding.checkpoints.note
                    if binding.checkpoints.admit(admitted.request, admitted.references.named)
                    else None
                )
                operation = await self._operation(rpc, call, admitted, binding)
                request = admitted.request.SerializeToString()
                binding.reads.note_statement(request)
                await self._relay.carry(rpc, request, operation, answering.write, note)

    async def take_stream(self, rpc: Rpc, requests: AsyncIterator[bytes], context: CallContext) -> bytes:
        """Serve a call with a stream of requests, all of one session."""
        async with CallLifecycle(rpc.name, context, self._counts) as answering:
            call = answering.call = await self._begin(context)
            async with self._calls.uploads.hold(call.caller.principal):
                upload = call.backend.upload(rpc)
                try:
                    with self._budget.share(call.caller.principal) as share:
                        return await self._upload(rpc, call, requests, upload, share)
                finally:
                    upload.cancel()
        raise AssertionError("internal error: an aborted call continued; report it")

    async def refuse(self, name: str, context: CallContext) -> None:
        """Refuse a call that is not in the allow list."""
        async with CallLifecycle("unknown", context, self._counts):
            await self._identify(credential_of_call(context.invocation_metadata() or ()))
            raise RequestRefusedError(
                f"the call `{name}` is not allowed: Headgate does not know it; use a PySpark 4.1 client"
            )

    def _find_begun(self, rpc: Rpc, context: CallContext) -> ActiveCall | None:
        """Return the call that began an operation of a client that releases results; None if no operation of it runs.

        Clients release results several times for each statement. A release returns no data and changes only operations of its
        own credential, so the credential is not looked up again while it has an operation that was not refused.
        """
        if rpc is not RELEASE_EXECUTE:
            return None
        return self._operations.find_begun(credential_of_call(context.invocation_metadata() or ()))

    async def _begin(self, context: CallContext) -> ActiveCall:
        return await self._authenticate(credential_of_call(context.invocation_metadata() or ()))

    async def _authenticate(self, presented: PresentedCredential) -> ActiveCall:
        admission = await self._identify(presented)
        self.watch.require_current()
        if admission.why_not:
            raise RequestRefusedError(admission.why_not)
        if admission.driver is None and admission.trouble:
            raise UnavailableError(f"{NOT_READY}: {mask(admission.trouble)}")
        return ActiveCall(presented, admission.caller, await self._backends.reach(admission.driver))

    async def _identify(self, presented: PresentedCredential) -> AdmittedCaller:
        admission = await self._authority.authenticate(presented)
        if admission is None:
            raise UnknownTokenError
        return admission

    async def _admit(self, rpc: Rpc, call: ActiveCall, data: bytes, share: Share) -> tuple[Admitted, Binding]:
        """Check a request and ensure that its session is signed. `share` counts the memory of the rows in its plan."""
        admitted = await self._inspect(rpc, call, data)
        if admitted.references.local_rows:
            await self._rows.rewrite_relations(call.caller.principal, admitted.references.local_rows, share)
        if rpc.opens:
            async with self._calls.others.hold(call.caller.principal):
                binding = await self._bindings.ensure(admitted.key, call.credential, call.backend)
        else:
            binding = self._bindings.find(admitted.key, call.backend)
        if rpc is REATTACH_EXECUTE and not binding.handle:
            raise NoSessionError
        if admitted.references.unseen or admitted.references.probes:
            binding.reads.note_statement(admitted.request.SerializeToString())
        for query in admitted.references.unseen:
            await self._calls.send(ANALYZE_PLAN, call, binding, analysis_of(admitted.key, query))
        for statement in admitted.references.probes:
            await self._probe(call, binding, analysis_of(admitted.key, statement))
        return admitted, binding

    async def _probe(self, call: ActiveCall, binding: Binding, request: bytes) -> None:
        """Send a statement to be analysed only for its refusal; ignore its other errors, which are not about the request."""
        try:
            await self._calls.send(ANALYZE_PLAN, call, binding, request)
        except grpc.aio.AioRpcError as error:
            if not is_mistake(error):
                raise

    async def _inspect(self, rpc: Rpc, call: ActiveCall, data: bytes) -> Admitted:
        loop = asyncio.get_running_loop()

        def may_touch(_: Caller, action: str, path: str) -> bool:
            asked = self._authority.may_access(call.credential, action, path)
            return asyncio.run_coroutine_threadsafe(asked, loop).result(INSPECTION_SECONDS)

        return await self._inspections.run(rpc, data, call.caller, may_touch)

    async def _clone(self, rpc: Rpc, call: ActiveCall, admitted: Admitted) -> bytes:
        request = admitted.request
        request.new_session_id = uuid_text(request.new_session_id or str(uuid.uuid4()), "new session id")
        key = SessionKey(admitted.key.user, request.new_session_id)
        source = self._bindings.find(admitted.key, call.backend)
        return await self._bindings.clone(
            key, call.credential, source, call.backend, lambda: self._send(rpc, call, admitted, source)
        )

    async def _operation(self, rpc: Rpc, call: ActiveCall, admitted: Admitted, binding: Binding) -> Operation:
        """Return the operation whose results the call relays."""
        request = admitted.request
        if rpc is REATTACH_EXECUTE:
            return await self._require_reattachable(call, admitted)
        command = request.plan.command
        if command.HasField("write_stream_operation_start"):
            binding.streams = True
        if command.HasField("streaming_query_command"):
            await self._require_stream(call, binding, command.streaming_query_command)
        return self._operations.begin(
            Operation(
                key=admitted.key,
                id=request.operation_id,
                handle=binding.handle,
                principal=call.caller.principal,
                backend=call.backend,
                size=request.ByteSize(),
                begun_by=call,
                stays=any(each.reattach_options.reattachable for each in request.request_options),
            )
        )

    async def _require_stream(self, call: ActiveCall, binding: Binding, command: Any) -> None:
        """Check the privileges of a stream again, even of an ended one: its progress contains row counts and observed values."""
        if command.WhichOneof("command") in _OF_ROWS:
            why = await self._authority.refusal(Running(binding.handle, STREAM + command.query_id.id, call.credential))
            if why is not None:
                raise RequestRefusedError(why)

    async def _require_reattachable(self, call: ActiveCall, admitted: Admitted) -> Operation:
        """Return an operation whose results may be returned now: its privileges are checked again at each reattachment."""
        found = self._operations.find(call.backend, admitted.key, admitted.request.operation_id)
        if found is None:
            raise NoOperationError
        found.require()
        why = await self._authority.refusal(Running(found.handle, found.id, call.credential))
        if why is not None:
            found.abort(RequestRefusedError(why))
            self._interrupts.end(found)
        found.require()
        return found

    async def _release(self, call: ActiveCall, admitted: Admitted, binding: Binding) -> bytes:
        """Release an operation, or its responses that the client has received."""
        # Looked up before the call: a later operation may have the same id when the response arrives.
        found = self._operations.find(call.backend, admitted.key, admitted.request.operation_id)
        if found is None:
            call = await self._authenticate(call.credential)
            found = self._operations.find(call.backend, admitted.key, admitted.request.operation_id)
        if admitted.request.HasField("release_all"):
            return await self._release_all(call, admitted, binding, found)
        if found is not None and admitted.request.HasField("release_until"):
            if found.unreleased < RETAINED_BYTES:
                return binding.build_release_response(found.id)
            found.unreleased = 0
        return await self._send(RELEASE_EXECUTE, call, admitted, binding)

    async def _release_all(
        self, call: ActiveCall, admitted: Admitted, binding: Binding, found: Operation | None
    ) -> bytes:
        """Release an operation in the driver, which also interrupts it.

        A driver that does not know the operation also responds with OK, and may receive its plan later. So without a
        confirmation the operation stays tracked, and is interrupted until its end is confirmed.
        """
        answer = await self._send(RELEASE_EXECUTE, call, admitted, binding)
        if found is not None and is_released(answer, found.id):
            self._operations.end(found)
        elif found is not None:
            self._interrupts.end(found)
        return answer

    async def _release_session(self, call: ActiveCall, admitted: Admitted) -> bytes:
        binding = self._bindings.find(admitted.key, call.backend)
        answer = await self._bindings.release(
            admitted.key, call.backend, lambda: self._send(RELEASE_SESSION, call, admitted, binding)
        )
        for each in self._operations.of_session(call.backend, admitted.key):
            # A plan in transit may reach the driver after the release, perhaps in a new session of the same id.
            self._interrupts.end(each)
        return answer

    async def _send(self, rpc: Rpc, call: ActiveCall, admitted: Admitted, binding: Binding) -> bytes:
        request = admitted.request.SerializeToString()
        if rpc is ANALYZE_PLAN:
            binding.reads.note_statement(request)
        return await self._calls.send(rpc, call, binding, request)

    async def _upload(
        self, rpc: Rpc, call: ActiveCall, requests: AsyncIterator[bytes], driver: Any, share: Share
    ) -> bytes:
        key: SessionKey | None = None
        upload: Upload | None = None
        with suppress(asyncio.InvalidStateError):  # the driver has already responded, most likely with an error
            while (data := await _next(requests)) is not None:
                if upload is None:
                    admitted, _ = await self._admit(rpc, call, data, share)
                    upload = Upload(admitted.request, self._rows, call.caller.principal, share)
                else:
                    admitted = await self._inspect(rpc, call, data)
                if key not in (None, admitted.key):
                    raise InvalidRequestError(
                        "the requests of the upload name different sessions; send one upload for each session"
                    )
                key = admitted.key
                await _write(driver, await upload.take(admitted.request, len(data)))
            await _write(driver, await upload.finish() if upload else ())
        await driver.done_writing()
        return restore_summaries(await driver, upload.client_names if upload else {})


async def _write(driver: Any, requests: Iterable[bytes]) -> None:
    for request in requests:
        await driver.write(request)


async def _only(requests: AsyncIterator[bytes]) -> bytes:
    """Return the request of a call that must have exactly one."""
    request = await _next(requests, _REQUEST_SECONDS)
    if request is None:
        raise InvalidRequestError("the call has no request; send one request")
    if await _next(requests) is not None:
        raise InvalidRequestError("the call has more than one request; send each request in its own call")
    return request


async def _next(requests: AsyncIterator[bytes], seconds: float = _PART_SECONDS) -> bytes | None:
    try:
        # Not `wait_for`: it loses a cancellation that arrives with the end of the requests, as happens when a client disconnects.
        async with asyncio.timeout(seconds):
            return await anext(requests, None)
    except TimeoutError:
        raise InvalidRequestError(
            f"no complete request arrived within {seconds:.0f} seconds, so nothing was done; send it again, or send a smaller request"
        ) from None
