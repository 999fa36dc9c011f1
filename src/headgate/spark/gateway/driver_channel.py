"""The gateway's connection to the driver: one gRPC channel per start of the driver, with errors scrubbed for users."""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import grpc
import grpc.aio

from headgate.control.text.error_text import REFUSED_STATE, mask
from headgate.spark.authority import DriverEndpoint
from headgate.spark.gateway.call_identity import SessionKey
from headgate.spark.gateway.error_scrubber import scrub, status_sqlstate
from headgate.spark.gateway.errors import (
    STATUS_KEY,
    DriverGoneError,
    GatewayError,
    StatementLostError,
    UnavailableError,
)
from headgate.spark.gateway.protos import base, commands
from headgate.spark.gateway.response_limits import LARGEST_LISTING, parse_answer
from headgate.spark.gateway.rpcs import (
    CONFIG_RPC,
    EXECUTE_PLAN,
    INTERRUPT,
    RELEASE_EXECUTE,
    RELEASE_SESSION,
    Rpc,
)
from headgate.spark.sql.statements import NOT_READY

MAX_MESSAGE_BYTES: Final = 128 * 1024 * 1024
"""The size limit of a message, in both directions: Spark's own limit."""
CHANNEL_OPTIONS: Final = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
)


_UNARY_SECONDS: Final = 600.0
"""Seconds that a short call, such as a read of the configuration, may take."""
_INTERRUPT_SECONDS: Final = 5.0
_NOT_SENT: Final = "failed to connect"
"""The text of gRPC's error for a call that was never sent, in lower case."""


_NO_MISTAKE: Final = ("08", "54", "57", "XX")
"""Prefixes of SQLSTATEs that do not mean a mistake in a statement: connections, limits, cancellations, internal errors."""


class DriverBackend:
    """A connection to one start of a driver."""

    def __init__(self, endpoint: DriverEndpoint) -> None:
        self.endpoint = endpoint
        self.name = endpoint.name
        self._metadata = (("authorization", f"Bearer {endpoint.token}"),)
        self._channel = grpc.aio.insecure_channel(endpoint.address, options=CHANNEL_OPTIONS)
        self.closed = False
        """Whether a later start of the driver has replaced this one, so that no operation of it runs any more."""

    async def unary(self, rpc: Rpc, request: bytes, seconds: float | None = _UNARY_SECONDS) -> bytes:
        """Return the driver's response unchanged. Raises `grpc.aio.AioRpcError`, `DriverGoneError`."""
        self._require_open()
        try:
            return await self._channel.unary_unary(rpc.path)(request, metadata=self._metadata, timeout=seconds)
        except grpc.aio.UsageError:
            # The channel was closed between the check and the call.
            raise DriverGoneError(NOT_READY) from None

    def stream(self, rpc: Rpc, request: bytes) -> Any:
        """Return a call that yields the driver's responses. Raises `DriverGoneError`."""
        self._require_open()
        return self._channel.unary_stream(rpc.path)(request, metadata=self._metadata)

    def upload(self, rpc: Rpc) -> Any:
        """Return a call to which requests are written. Raises `DriverGoneError`."""
        self._require_open()
        return self._channel.stream_unary(rpc.path)(metadata=self._metadata)

    async def configure(self, key: SessionKey, pairs: Mapping[str, str]) -> str:
        """Set configuration of a Spark session, and return the driver's id of it. The driver creates a session that does not exist."""
        request = base.ConfigRequest(session_id=key.session_id, client_type="headgate")
        request.user_context.user_id = key.user
        request.operation.set.pairs.extend(base.KeyValue(key=name, value=value) for name, value in pairs.items())
        answer = await self.unary(CONFIG_RPC, request.SerializeToString())
        return parse_answer(base.ConfigResponse, answer, LARGEST_LISTING).server_side_session_id

    async def release_session(self, key: SessionKey) -> None:
        """Release a Spark session if it exists; the same id may be used again."""
        request = base.ReleaseSessionRequest(session_id=key.session_id, client_type="headgate", allow_reconnect=True)
        request.user_context.user_id = key.user
        await self.unary(RELEASE_SESSION, request.SerializeToString())

    async def interrupt(self, key: SessionKey, operation: str) -> bool:
        """Interrupt an operation in the driver; return whether it was running and not yet interrupted."""
        request = base.InterruptRequest(session_id=key.session_id, client_type="headgate", operation_id=operation)
        request.interrupt_type = base.InterruptRequest.INTERRUPT_TYPE_OPERATION_ID
        request.user_context.user_id = key.user
        answer = await self.unary(INTERRUPT, request.SerializeToString(), _INTERRUPT_SECONDS)
        return bool(parse_answer(base.InterruptResponse, answer, LARGEST_LISTING).interrupted_ids)

    async def release(self, key: SessionKey, operation: str) -> bool:
        """Make the driver release an operation and its cached results; return whether the driver had the operation."""
        request = base.ReleaseExecuteRequest(session_id=key.session_id, client_type="headgate", operation_id=operation)
        request.release_all.SetInParent()
        request.user_context.user_id = key.user
        answer = await self.unary(RELEASE_EXECUTE, request.SerializeToString(), _INTERRUPT_SECONDS)
        return is_released(answer, operation)

    async def stop_streams(self, key: SessionKey, id: str) -> None:
        """Stop a streaming query of a session; with an empty id, all of its streaming queries."""
        asked = commands.StreamingQueryManagerCommand(active=True)
        async for answer in self._command(key, commands.Command(streaming_query_manager_command=asked)):
            for query in answer.streaming_query_manager_command_result.active.active_queries:
                if id in ("", query.id.id):
                    stop = commands.StreamingQueryCommand(query_id=query.id, stop=True)
                    async for _ in self._command(key, commands.Command(streaming_query_command=stop)):
                        pass

    async def _command(self, key: SessionKey, command: commands.Command) -> AsyncIterator[Any]:
        request = base.ExecutePlanRequest(session_id=key.session_id, client_type="headgate")
        request.user_context.user_id = key.user
        request.plan.command.CopyFrom(command)
        async for answer in self.stream(EXECUTE_PLAN, request.SerializeToString()):
            yield parse_answer(base.ExecutePlanResponse, answer, LARGEST_LISTING)

    async def close(self) -> None:
        """Close the channel, which ends all calls on it."""
        self.closed = True
        await self._channel.close()

    def _require_open(self) -> None:
        if self.closed:
            raise DriverGoneError(NOT_READY)

    def explain(self, error: grpc.aio.AioRpcError) -> tuple[grpc.StatusCode, str, tuple[tuple[str, bytes], ...]]:
        """Return the driver's error for the client: code, text and rich status, without token or address.

        An error without a rich status comes from the connection, not from Spark's own code.
        Raises `UnavailableError` if the driver cannot be reached.
        """
        rich = rich_status(error)
        if not rich and error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNAUTHENTICATED):
            raise UnavailableError(NOT_READY) from None
        if not rich:
            return error.code(), mask(error.details() or ""), ()
        code, text, status = scrub(error.code(), rich[0][1])
        if self._leaks(status.decode(errors="replace")):
            return code, "the call failed in the Spark driver; ask the operator to read the log of the Spark driver", ()
        return code, text, ((STATUS_KEY, status),)

    def _leaks(self, text: str) -> bool:
        return any(secret and secret in text for secret in (self.endpoint.token, self.endpoint.address))


def is_released(answer: bytes, operation: str) -> bool:
    """Whether the driver released the operation; for an unknown one it responds with OK, but without the id."""
    return parse_answer(base.ReleaseExecuteResponse, answer, LARGEST_LISTING).operation_id == operation


def analysis_of(key: SessionKey, query: Any) -> bytes:
    """Return a request to analyse a query, so that the guard checks its privileges."""
    request = base.AnalyzePlanRequest(session_id=key.session_id, client_type="headgate")
    request.user_context.user_id = key.user
    request.schema.plan.root.CopyFrom(query)
    return request.SerializeToString()


def rich_status(error: grpc.aio.AioRpcError) -> tuple[tuple[str, bytes], ...]:
    """Return the rich status of an error: Spark's own errors have one, failures of the connection do not."""
    trailers = error.trailing_metadata() or ()
    return tuple((key, bytes(value)) for key, value in trailers if key == STATUS_KEY and isinstance(value, bytes))


def is_mistake(error: grpc.aio.AioRpcError) -> bool:
    """Whether Spark found a mistake in the statement; a refusal, a limit or a lost connection is not one."""
    rich = rich_status(error)
    state = status_sqlstate(rich[0][1]) if rich else ""
    return bool(state) and state != REFUSED_STATE and not state.startswith(_NO_MISTAKE)


def find_lost_statement(error: grpc.aio.AioRpcError) -> GatewayError | None:
    """Return the error for a statement whose connection to the driver broke; None if Spark responded or never received it."""
    if rich_status(error) or error.code() is not grpc.StatusCode.UNAVAILABLE:
        return None
    return None if _NOT_SENT in (error.details() or "").lower() else StatementLostError()


class Backends:
    """The connections to drivers by their names; each is created at its first use."""

    def __init__(self) -> None:
        self._backends: dict[str, DriverBackend] = {}

    async def reach(self, endpoint: DriverEndpoint | None) -> DriverBackend:
        """Return the connection to a start of a driver. Raises `UnavailableError` if `endpoint` is None or outdated."""
        if endpoint is None:
            raise UnavailableError(NOT_READY)
        found = self._backends.get(endpoint.name)
        if found is not None and found.endpoint == endpoint:
            return found
        if found is not None and found.endpoint.generation > endpoint.generation:
            raise UnavailableError(NOT_READY)
        backend = self._backends[endpoint.name] = DriverBackend(endpoint)
        if found is not None:
            await found.close()
        return backend

    async def close(self) -> None:
        """Close all connections."""
        for backend in self._backends.values():
            await backend.close()
