"""The driver as the gateway sees it: one channel per start of the driver, and its errors made fit for users."""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import grpc
import grpc.aio

from headgate.control.error_text import mask
from headgate.spark.gateway.authority import Endpoint
from headgate.spark.gateway.errors import STATUS_KEY, UnavailableError
from headgate.spark.gateway.identity import SessionKey
from headgate.spark.gateway.protos import base, commands
from headgate.spark.gateway.rpcs import ANALYZE_PLAN, CONFIG, EXECUTE_PLAN, INTERRUPT, RELEASE_SESSION, Rpc
from headgate.spark.gateway.scrubbing import scrub
from headgate.spark.statements import NOT_READY

MAX_MESSAGE_BYTES: Final = 128 * 1024 * 1024
"""Spark's own limit, on both sides."""
CHANNEL_OPTIONS: Final = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
)


_UNARY_SECONDS: Final = 600.0
"""A call with one answer reads, analyses or tells something; what takes longer has no client any more."""


class Backend:
    """A connection to one start of a driver."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.name = endpoint.name
        self._metadata = (("authorization", f"Bearer {endpoint.token}"),)
        self._channel = grpc.aio.insecure_channel(endpoint.address, options=CHANNEL_OPTIONS)

    async def unary(self, rpc: Rpc, request: bytes) -> bytes:
        """Return the driver's answer as it came. Raises `grpc.aio.AioRpcError`."""
        return await self._channel.unary_unary(rpc.path)(request, metadata=self._metadata, timeout=_UNARY_SECONDS)

    def stream(self, rpc: Rpc, request: bytes) -> Any:
        """Return the call whose messages are the driver's answers."""
        return self._channel.unary_stream(rpc.path)(request, metadata=self._metadata)

    def upload(self, rpc: Rpc) -> Any:
        """Return the call that requests are written to."""
        return self._channel.stream_unary(rpc.path)(metadata=self._metadata)

    async def configure(self, key: SessionKey, pairs: Mapping[str, str]) -> None:
        """Set configuration of a Spark session, which begins the session if there is none."""
        request = base.ConfigRequest(session_id=key.session_id, client_type="headgate")
        request.user_context.user_id = key.user
        request.operation.set.pairs.extend(base.KeyValue(key=name, value=value) for name, value in pairs.items())
        await self.unary(CONFIG, request.SerializeToString())

    async def analyse(self, key: SessionKey, query: Any) -> None:
        """Let Spark analyse a query, so that the guard decides on it. Raises `grpc.aio.AioRpcError`."""
        request = base.AnalyzePlanRequest(session_id=key.session_id, client_type="headgate")
        request.user_context.user_id = key.user
        request.schema.plan.root.CopyFrom(query)
        await self.unary(ANALYZE_PLAN, request.SerializeToString())

    async def forget(self, key: SessionKey) -> None:
        """End a Spark session if there is one; the same id may be used again."""
        request = base.ReleaseSessionRequest(session_id=key.session_id, client_type="headgate", allow_reconnect=True)
        request.user_context.user_id = key.user
        await self.unary(RELEASE_SESSION, request.SerializeToString())

    async def interrupt(self, key: SessionKey, operation: str) -> None:
        """End an operation in the driver, if it is still under way."""
        request = base.InterruptRequest(session_id=key.session_id, client_type="headgate", operation_id=operation)
        request.interrupt_type = base.InterruptRequest.INTERRUPT_TYPE_OPERATION_ID
        request.user_context.user_id = key.user
        await self.unary(INTERRUPT, request.SerializeToString())

    async def stop_streams(self, key: SessionKey, id: str) -> None:
        """Stop a streaming query of a session, or with an empty id all of them."""
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
            yield base.ExecutePlanResponse.FromString(answer)

    async def close(self) -> None:
        """Close the channel; what is running on it ends."""
        await self._channel.close()

    def explain(self, error: grpc.aio.AioRpcError) -> tuple[grpc.StatusCode, str, tuple[tuple[str, bytes], ...]]:
        """Return the driver's error for the client: code, text and rich status, without token or address.

        An error without a rich status did not come from Spark's own code but from the way to it.
        Raises `UnavailableError` if the driver cannot be reached.
        """
        trailers = error.trailing_metadata() or ()
        rich = tuple((key, bytes(value)) for key, value in trailers if key == STATUS_KEY and isinstance(value, bytes))
        if not rich and error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNAUTHENTICATED):
            raise UnavailableError(NOT_READY) from None
        if not rich:
            return error.code(), mask(error.details() or ""), ()
        code, text, status = scrub(error.code(), rich[0][1])
        if self._leaks(status.decode(errors="replace")):
            return code, "Spark failed", ()
        return code, text, ((STATUS_KEY, status),)

    def _leaks(self, text: str) -> bool:
        return any(secret and secret in text for secret in (self.endpoint.token, self.endpoint.address))
