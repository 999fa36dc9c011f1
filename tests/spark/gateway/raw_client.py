"""A client of the gateway that speaks only the protocol, without PySpark."""

import uuid
from typing import Any

import grpc
import pytest

from headgate.spark.gateway.rpcs import RPCS, SERVICE
from tests.spark.gateway.fake_backend import ANSWERS


class Client:
    """A client that sends arbitrary requests, and waits for an answer for `seconds`, or without a limit."""

    def __init__(self, port: int, token: str | None, seconds: float | None = None) -> None:
        self.seconds = seconds
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port}")
        self.session_id = str(uuid.uuid4())
        self.metadata = () if token is None else (("authorization", f"Bearer {token}"), ("x-user", "root"))

    def call(self, name: str, session_id: str | None = None, **fields: Any) -> Any:
        rpc = RPCS[SERVICE + name]
        request = rpc.request(session_id=session_id or self.session_id, **fields).SerializeToString()
        if rpc.streams_out:
            answers = self.channel.unary_stream(rpc.path)(request, metadata=self.metadata, timeout=self.seconds)
            return [ANSWERS[name].FromString(data) for data in answers]
        if rpc.streams_in:
            return ANSWERS[name].FromString(
                self.channel.stream_unary(rpc.path)(iter([request]), metadata=self.metadata, timeout=self.seconds)
            )
        answer = self.channel.unary_unary(rpc.path)(request, metadata=self.metadata, timeout=self.seconds)
        return ANSWERS[name].FromString(answer)

    def request(self, name: str, **fields: Any) -> bytes:
        """Return the bytes of a request in this session."""
        return RPCS[SERVICE + name].request(session_id=self.session_id, **fields).SerializeToString()

    def begin(self, name: str, **fields: Any) -> Any:
        """Start a call, and return the iterator of its responses."""
        rpc = RPCS[SERVICE + name]
        request = rpc.request(session_id=self.session_id, **fields).SerializeToString()
        return self.channel.unary_stream(rpc.path)(request, metadata=self.metadata)

    def fails(self, name: str, session_id: str | None = None, **fields: Any) -> grpc.RpcError:
        with pytest.raises(grpc.RpcError) as raised:
            self.call(name, session_id, **fields)
        return raised.value

    def version(self) -> Any:
        return self.call("AnalyzePlan", spark_version={})
