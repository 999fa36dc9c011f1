"""The lifecycle of a call: its status is sent after everything that was sent before."""

import asyncio
from typing import Any, NoReturn

import grpc
import grpc.aio
import pytest

from headgate.spark.gateway.call import CallLifecycle
from headgate.spark.gateway.errors import RequestRefusedError
from headgate.spark.gateway.metrics import GatewayCounts


class FakeContext:
    """Sends what a call tells it to, in order. Like gRPC, it does not know that headers are sent until they are."""

    def __init__(self) -> None:
        self.sent = list[str]()
        self.has_begun, self.go_on = asyncio.Event(), asyncio.Event()

    async def send_initial_metadata(self, _: object) -> None:
        self.has_begun.set()
        await self.go_on.wait()
        self.sent.append("headers")

    async def write(self, message: bytes) -> None:
        assert "headers" in self.sent
        self.sent.append(message.decode())

    async def abort(self, code: grpc.StatusCode, *_: object) -> NoReturn:
        self.sent.append(code.name)
        raise grpc.aio.AbortError

    def invocation_metadata(self) -> tuple[()]:
        return ()


def test_the_headers_are_sent_once_before_the_messages() -> None:
    async def call() -> list[str]:
        context: Any = FakeContext()
        context.go_on.set()
        async with CallLifecycle("ExecutePlan", context, GatewayCounts()) as answering:
            await answering.write(b"one")
            await answering.write(b"two")
        return context.sent

    assert asyncio.run(call()) == ["headers", "one", "two"]


def test_the_status_of_a_call_that_is_cancelled_while_its_headers_are_sent_follows_them() -> None:
    async def serve(context: Any) -> None:
        async with CallLifecycle("ExecutePlan", context, GatewayCounts()) as answering:
            try:
                await answering.write(b"one")
            except asyncio.CancelledError:
                raise RequestRefusedError("the privilege was revoked; ask for it again") from None

    async def call() -> list[str]:
        context = FakeContext()
        serving = asyncio.create_task(serve(context))
        await context.has_begun.wait()
        serving.cancel()
        asyncio.get_running_loop().call_later(0.05, context.go_on.set)
        with pytest.raises(grpc.aio.AbortError):
            await serving
        return context.sent

    assert asyncio.run(call()) == ["headers", "PERMISSION_DENIED"]
