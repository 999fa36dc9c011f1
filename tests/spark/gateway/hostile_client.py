"""A hostile client: sends any bytes to any method with any metadata."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from headgate.spark.gateway.rpcs import SERVICE

Metadata = tuple[tuple[str, str | bytes], ...]
LONGEST = 256 * 1024 * 1024


@dataclass(frozen=True)
class Answer:
    """The status of a call, its message, and the responses before its end."""

    code: grpc.StatusCode
    text: str = ""
    messages: list[bytes] = field(default_factory=list)
    rich: bytes = b""

    @property
    def sqlstate(self) -> str:
        """Return the SQLSTATE of an error, or an empty text."""
        info = ErrorInfo()
        for detail in Status.FromString(self.rich).details:
            detail.Unpack(info)  # does nothing if the value has another type
        return info.metadata.get("sqlState", "")


def bearer(token: str) -> Metadata:
    """Return the metadata of a caller with a token."""
    return (("authorization", f"Bearer {token}"),)


class RawClient:
    """A channel without a stub.

    All four kinds of calls are bidirectional streams of messages on the wire.
    """

    def __init__(self, address: str, metadata: Metadata = (), *, agent: str = "") -> None:
        options = (
            ("grpc.max_send_message_length", LONGEST),
            ("grpc.max_receive_message_length", LONGEST),
            ("grpc.primary_user_agent", agent),
        )
        self.channel = grpc.insecure_channel(address, options=options)
        self.metadata = metadata

    def send(
        self,
        method: str,
        requests: Iterable[bytes],
        metadata: Metadata | None = None,
        *,
        seconds: float = 30,
        **options: Any,
    ) -> Answer:
        """Send messages to a method of Spark Connect, or to a path that begins with a slash."""
        path = method if method.startswith("/") else SERVICE + method
        sent = self.metadata if metadata is None else metadata
        call: Any = self.channel.stream_stream(path)(iter(requests), metadata=sent, timeout=seconds, **options)
        messages: list[bytes] = []
        try:
            messages.extend(call)
        except grpc.RpcError:
            trailers = dict(call.trailing_metadata() or ())
            return Answer(call.code(), call.details(), messages, trailers.get("grpc-status-details-bin", b""))
        return Answer(grpc.StatusCode.OK, "", messages)

    def close(self) -> None:
        """Close the channel."""
        self.channel.close()
