"""Interrupts of operations: the gateway repeats each until the driver has confirmed that the operation ended."""

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import suppress
from typing import Final

import grpc
import grpc.aio

from headgate.spark.gateway.driver_channel import rich_status
from headgate.spark.gateway.errors import DriverGoneError
from headgate.spark.gateway.operations import Operation, Operations

log = logging.getLogger(__name__)

_AGAIN_SECONDS: Final = 1.0
"""Seconds between two interrupts of one operation."""
_CLOSE_SECONDS: Final = 2.0
"""Seconds that running interrupts may take when the gateway stops."""


class Interrupts:
    """Cancellation of operations in their drivers. An operation counts as ended only once its driver confirms that.

    The proof is the end of the stream of its results, which the gateway reads to the end in place of the client. An
    operation without a stream is released, and has ended once the driver finds nothing left to interrupt. As long as
    the driver has not shown that it knows the operation, the plan may still arrive there, so finding nothing is no proof.
    """

    def __init__(self, operations: Operations) -> None:
        self._operations = operations
        self._tasks = dict[Operation, asyncio.Task[None]]()
        self._drains = dict[Operation, set[asyncio.Task[bool]]]()

    def end(
        self, operation: Operation, drain: Coroutine[None, None, bool] | None = None
    ) -> "asyncio.Task[None] | None":
        """Start to interrupt an operation; repeated calls are harmless.

        `drain` reads results that no client reads any more, and returns whether the driver ended their stream.
        """
        if drain is not None:
            self._drains.setdefault(operation, set()).add(asyncio.create_task(drain, name="drain"))
        if operation.ended and not self._drains.get(operation):
            return None
        task = self._tasks.get(operation)
        if task is None or task.done():
            task = self._tasks[operation] = asyncio.create_task(self._wait_until_ended(operation), name="interrupt")
        return task

    def __len__(self) -> int:
        return len(self._tasks)

    async def close(self) -> None:
        """Wait briefly for the running interrupts, then cancel them."""
        tasks = {*self._tasks.values(), *(drain for drains in self._drains.values() for drain in drains)}
        if tasks:
            await asyncio.wait(tasks, timeout=_CLOSE_SECONDS)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _wait_until_ended(self, operation: Operation) -> None:
        try:
            while not operation.ended or self._drains.get(operation):
                if await self._is_confirmed(operation):
                    self._operations.end(operation)
                    return
                await asyncio.sleep(_AGAIN_SECONDS)
        finally:
            self._tasks.pop(operation, None)
            for drain in self._drains.pop(operation, ()):
                drain.cancel()

    async def _is_confirmed(self, operation: Operation) -> bool:
        """Interrupt once; return whether the driver has confirmed that the operation ended."""
        try:
            found = await operation.backend.interrupt(operation.key, operation.id)
            operation.is_known |= found
            if self._drains.get(operation):
                return await self._has_drained(operation)
            if operation.calls:
                return False
            if operation.stays:
                operation.is_known |= await operation.backend.release(operation.key, operation.id)
        except DriverGoneError:
            return True
        except grpc.aio.AioRpcError as error:
            # Spark's own error means that it does not know the session or operation; any other, that the driver did not respond.
            return bool(rich_status(error)) and await self._has_drained(operation)
        except Exception:
            log.exception("the cancellation of an operation failed; the gateway tries again in %g s", _AGAIN_SECONDS)
            return False
        return not found and self._has_no_stream(operation)

    async def _has_drained(self, operation: Operation) -> bool:
        """Wait briefly for the streams of an operation; return whether the driver ended all of them."""
        drains = self._drains.get(operation, set())
        if not drains:
            return self._has_no_stream(operation)
        done, pending = await asyncio.wait(drains, timeout=_AGAIN_SECONDS)
        ends = [not each.cancelled() and each.exception() is None and each.result() for each in done]
        has_ended = not operation.stays and any(ends)
        # A stream that ended in another way proves nothing: the next interrupt shows whether the operation still runs.
        drains -= done
        return has_ended and not pending and not operation.calls

    def _has_no_stream(self, operation: Operation) -> bool:
        """Whether no stream of the operation's results is open, and its plan can no longer arrive in the driver."""
        has_stream = operation.calls or self._drains.get(operation)
        return not has_stream and not self._operations.may_arrive(operation)


async def wait_briefly(task: "asyncio.Task[None] | None", seconds: float) -> None:
    """Wait for an interrupt, for at most `seconds`."""
    if task is not None:
        with suppress(asyncio.CancelledError):
            await asyncio.wait({task}, timeout=seconds)
