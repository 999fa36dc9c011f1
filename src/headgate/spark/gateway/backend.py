"""The driver as the gateway sees it: one channel per start of the driver, and its errors made fit for users."""

from collections.abc import Mapping
from typing import Any, Final, Protocol

import grpc
import grpc.aio

from headgate.spark.gateway.errors import STATUS_KEY, UnavailableError
from headgate.spark.gateway.identity import SessionKey
from headgate.spark.gateway.protos import base
from headgate.spark.gateway.rpcs import CONFIG, RELEASE_SESSION, Rpc
from headgate.spark.statements import NOT_READY

MAX_MESSAGE_BYTES: Final = 128 * 1024 * 1024
"""Spark's own limit, on both sides."""
CHANNEL_OPTIONS: Final = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
)


class Driver(Protocol):
    """The driver process: where it listens, the secrets of its present start, and whether it serves."""

    @property
    def address(self) -> str:
        """Return host and port of the Spark Connect server."""
        ...

    @property
    def token(self) -> str:
        """Return the token that the server asks of every call."""
        ...

    @property
    def key(self) -> bytes:
        """Return the key that signs what the guard believes."""
        ...

    @property
    def generation(self) -> int:
        """Return the number of the present start; sessions of an earlier one are gone."""
        ...

    @property
    def ready(self) -> bool:
        """Tell whether the driver serves, and refused its canary."""
        ...


class Backend:
    """A connection to one start of the driver."""

    def __init__(self, driver: Driver) -> None:
        self.generation = driver.generation
        self.key = driver.key
        self._address = driver.address
        self._token = driver.token
        self._metadata = (("authorization", f"Bearer {driver.token}"),)
        self._channel = grpc.aio.insecure_channel(driver.address, options=CHANNEL_OPTIONS)

    async def unary(self, rpc: Rpc, request: bytes) -> bytes:
        """Return the driver's answer as it came. Raises `grpc.aio.AioRpcError`."""
        return await self._channel.unary_unary(rpc.path)(request, metadata=self._metadata)

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

    async def forget(self, key: SessionKey) -> None:
        """End a Spark session if there is one; the same id may be used again."""
        request = base.ReleaseSessionRequest(session_id=key.session_id, client_type="headgate", allow_reconnect=True)
        request.user_context.user_id = key.user
        await self.unary(RELEASE_SESSION, request.SerializeToString())

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
        rich = tuple((key, value) for key, value in rich if not self._leaks(value.decode(errors="replace")))
        details = error.details() or ""
        return error.code(), "Spark failed" if self._leaks(details) else details, rich

    def _leaks(self, text: str) -> bool:
        return any(secret and secret in text for secret in (self._token, self._address))
