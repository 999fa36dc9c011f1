"""The relay of an operation's results to the client, and the handling of the operation when the relay ends."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

import grpc.aio

from headgate.spark.gateway.call import retrieve_exception
from headgate.spark.gateway.driver_channel import find_lost_statement, rich_status
from headgate.spark.gateway.error_scrubber import scrub_result
from headgate.spark.gateway.errors import GatewayError, StatementLostError
from headgate.spark.gateway.interrupts import Interrupts
from headgate.spark.gateway.metrics import GatewayCounts
from headgate.spark.gateway.operations import Operation, Operations
from headgate.spark.gateway.response_joiner import ResponseJoiner
from headgate.spark.gateway.rpcs import EXECUTE_PLAN, Rpc

Note = Callable[[bytes], None]
Write = Callable[[bytes], Awaitable[None]]
"""Sends a message to the client."""


_AHEAD: Final = 1
"""The number of messages that are read ahead of the client."""


class ResultStream:
    """The driver's responses, read by a separate task: gRPC would cancel the call together with a client's task that reads it."""

    def __init__(self, operation: Operation, answers: Any) -> None:
        self._operation = operation
        self._answers = answers
        self._messages = asyncio.Queue[bytes | None](_AHEAD)
        self._is_abandoned = False
        self._reader = asyncio.create_task(self._read(), name="results")

    async def messages(self) -> AsyncIterator[bytes]:
        """Yield the responses. Raises `grpc.aio.AioRpcError`, and `CancelledError` if the channel is closed."""
        while (message := await self._messages.get()) is not None:
            yield message
        await asyncio.shield(self._reader)

    def cancel(self) -> None:
        """Cancel the call. Spark continues a reattachable operation."""
        self._is_abandoned = True
        self._answers.cancel()
        self._reader.cancel()
        self._reader.add_done_callback(retrieve_exception)

    async def drain(self) -> bool:
        """Read and discard the rest; return whether the driver ended the stream, rather than a lost connection."""
        self._is_abandoned = True
        while not self._messages.empty():
            self._messages.get_nowait()
        try:
            await self._reader
        except grpc.aio.AioRpcError as error:
            return bool(rich_status(error))
        return True

    async def _read(self) -> None:
        try:
            async for message in self._answers:
                self._operation.is_known = True
                if not self._is_abandoned:
                    await self._messages.put(message)
            self._operation.is_known = True
        except grpc.aio.AioRpcError as error:
            self._operation.is_known |= bool(rich_status(error))
            raise
        finally:
            if not self._is_abandoned:
                await self._messages.put(None)


class Relay:
    """Relays results with backpressure: no faster than the client reads them."""

    def __init__(
        self, operations: Operations, interrupts: Interrupts, counts: GatewayCounts, require_watched: Callable[[], None]
    ) -> None:
        """`require_watched` raises while a revoked privilege would not end an operation."""
        self._operations = operations
        self._interrupts = interrupts
        self._counts = counts
        self._require_watched = require_watched

    async def carry(self, rpc: Rpc, request: bytes, operation: Operation, write: Write, note: Note | None) -> None:
        """Send a request and relay the responses. The operation stays tracked until the driver has ended it."""
        with self._operations.attach(operation):
            answers = ResultStream(operation, operation.backend.stream(rpc, request))
            has_ended = False
            try:
                await self._pass_on(operation, answers, write, note)
                has_ended = True
            except grpc.aio.AioRpcError as error:
                has_ended = bool(rich_status(error))
                self._note_loss(operation, find_lost_statement(error))
                raise
            except asyncio.CancelledError:
                if operation.backend.closed and not _is_cancelled():
                    self._note_loss(operation, StatementLostError())
                raise
            finally:
                self._leave(rpc, operation, answers, has_ended=has_ended)

    async def _pass_on(self, operation: Operation, answers: ResultStream, write: Write, note: Note | None) -> None:
        joiner = ResponseJoiner()
        async for message in answers.messages():
            self._require_watched()
            if note is not None:
                note(message)
            self._counts.bytes += len(message)
            operation.unreleased += len(message)
            joined = joiner.join(scrub_result(message))
            if joined is not None:
                await write(joined)
        if rest := joiner.take_rest():
            self._require_watched()
            await write(rest)

    def _note_loss(self, operation: Operation, error: GatewayError | None) -> None:
        operation.error = operation.error or error

    def _leave(self, rpc: Rpc, operation: Operation, answers: ResultStream, *, has_ended: bool) -> None:
        if operation.error is not None:
            self._interrupts.end(operation, answers.drain())
        elif operation.stays or rpc is not EXECUTE_PLAN:
            # A client may reattach; until then, the revocation watch interrupts it if it is abandoned.
            answers.cancel()
        elif has_ended:
            self._operations.end(operation)
        else:
            self._interrupts.end(operation, answers.drain())


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
