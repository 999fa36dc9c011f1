"""Routing of calls: from the path of a call to the method of the gateway that serves it."""

from collections.abc import AsyncIterator
from typing import Any, Protocol

import grpc
from typing_extensions import override

from headgate.spark.gateway.call import CallContext
from headgate.spark.gateway.rpcs import RPCS, Rpc


class CallHandler(Protocol):
    """The methods that serve a call, depending on whether the requests or the responses are a stream."""

    async def answer(self, rpc: Rpc, requests: AsyncIterator[bytes], context: CallContext) -> bytes:
        """Serve a call with one request and one response."""
        ...

    async def answer_stream(self, rpc: Rpc, requests: AsyncIterator[bytes], context: CallContext) -> None:
        """Serve a call with one request and a stream of responses."""
        ...

    async def take_stream(self, rpc: Rpc, requests: AsyncIterator[bytes], context: CallContext) -> bytes:
        """Serve a call with a stream of requests."""
        ...

    async def refuse(self, name: str, context: CallContext) -> None:
        """Refuse a call that is not in the allow list."""
        ...


class Router(grpc.GenericRpcHandler):
    """Routes each call to a method of the gateway. Requests and responses stay bytes: the router parses nothing.

    Every call is served as one with a stream of requests. For any other kind, gRPC would receive the whole request,
    however large, before the gateway knows the caller. On the wire there is no difference.
    """

    def __init__(self, gateway: CallHandler) -> None:
        self._gateway = gateway

    @override
    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        """Return the handler of a call."""
        path = handler_call_details.method
        rpc = RPCS.get(path)
        if rpc is None:
            return grpc.stream_stream_rpc_method_handler(_build_refusing_handler(self._gateway, path))
        if rpc.streams_out:
            return grpc.stream_stream_rpc_method_handler(_build_stream_handler(self._gateway, rpc))
        if rpc.streams_in:
            return grpc.stream_unary_rpc_method_handler(_build_upload_handler(self._gateway, rpc))
        return grpc.stream_unary_rpc_method_handler(_build_unary_handler(self._gateway, rpc))


def _build_unary_handler(gateway: CallHandler, rpc: Rpc) -> Any:
    async def handle(requests: AsyncIterator[bytes], context: CallContext) -> bytes:
        return await gateway.answer(rpc, requests, context)

    return handle


def _build_stream_handler(gateway: CallHandler, rpc: Rpc) -> Any:
    async def handle(requests: AsyncIterator[bytes], context: CallContext) -> None:
        await gateway.answer_stream(rpc, requests, context)

    return handle


def _build_upload_handler(gateway: CallHandler, rpc: Rpc) -> Any:
    async def handle(requests: AsyncIterator[bytes], context: CallContext) -> bytes:
        return await gateway.take_stream(rpc, requests, context)

    return handle


def _build_refusing_handler(gateway: CallHandler, path: str) -> Any:
    async def handle(_requests: AsyncIterator[bytes], context: CallContext) -> None:
        await gateway.refuse(path.rpartition("/")[2], context)

    return handle
