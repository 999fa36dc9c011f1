"""Concurrency limits of unary calls to a driver, and calls that continue after their client has disconnected."""

import asyncio
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from headgate.facts.ids import PrincipalId
from headgate.spark.gateway.call import ActiveCall, retrieve_exception
from headgate.spark.gateway.errors import DriverGoneError, ExhaustedError, GatewayError
from headgate.spark.gateway.operations import Operation, OperationKind, Operations
from headgate.spark.gateway.rpcs import ANALYZE_PLAN, Rpc
from headgate.spark.gateway.session_bindings import Binding
from headgate.spark.sql.statements import NOT_READY

ANALYSES_PER_PRINCIPAL: Final = 4
ANALYSES: Final = 64
CALLS_PER_PRINCIPAL: Final = 64
CALLS: Final = 512
STATUSES_PER_PRINCIPAL: Final = 2
STATUSES: Final = 16
"""Requests for artifact statuses. Each may contain 65,536 names, and the gateway renames all of them twice."""
UPLOADS_PER_PRINCIPAL: Final = 32
UPLOADS: Final = 256
_WAIT_SECONDS: Final = 10.0
"""How many seconds a call waits for a free slot."""
_WAITING: Final = 64
"""The limit of waiting calls of one principal."""


class Slots:
    """A concurrency limit for one kind of calls, for each principal and for all principals together."""

    def __init__(self, what: str, per_principal: int, overall: int, seconds: float = _WAIT_SECONDS) -> None:
        self._what = what
        self._per_principal = per_principal
        self._overall = overall
        self._seconds = seconds
        self._held = Counter[PrincipalId]()
        self._waiting = Counter[PrincipalId]()
        self._waiters = set[asyncio.Future[None]]()

    async def take(self, principal: PrincipalId) -> None:
        """Wait for a free slot, and hold it until `release`. Raises `ExhaustedError`."""
        if self._waiting[principal] >= _WAITING:
            raise ExhaustedError(f"{_WAITING} of your {self._what} are already waiting; wait for one of them to end")
        self._waiting[principal] += 1
        try:
            async with asyncio.timeout(self._seconds):
                while not self._has_room(principal):
                    await self._change()
        except TimeoutError:
            raise self._exhausted(principal) from None
        finally:
            self._waiting[principal] -= 1
            self._waiting += Counter()
        self._held[principal] += 1

    def release(self, principal: PrincipalId) -> None:
        """Free a slot for another call."""
        self._held[principal] -= 1
        self._held += Counter()
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    @asynccontextmanager
    async def hold(self, principal: PrincipalId) -> AsyncIterator[None]:
        """Hold a slot until the block ends. Raises `ExhaustedError`."""
        await self.take(principal)
        try:
            yield
        finally:
            self.release(principal)

    def __len__(self) -> int:
        return self._held.total()

    def _has_room(self, principal: PrincipalId) -> bool:
        return self._held[principal] < self._per_principal and self._held.total() < self._overall

    async def _change(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)

    def _exhausted(self, principal: PrincipalId) -> ExhaustedError:
        if self._held[principal] >= self._per_principal:
            return ExhaustedError(
                f"you have {self._per_principal} running {self._what}, as many as one principal may have; "
                "wait for one of them to end"
            )
        return ExhaustedError(
            f"all callers together have {self._overall} running {self._what}, as many as Spark serves at once, and none "
            f"ended within {self._seconds:g} seconds; retry in a few seconds, your own calls need not end"
        )


class Calls:
    """Sends unary calls to the driver. An analysis is tracked as an operation, because Spark cannot interrupt it."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations
        self.analyses = Slots("analyses", ANALYSES_PER_PRINCIPAL, ANALYSES)
        self.others = Slots("calls", CALLS_PER_PRINCIPAL, CALLS)
        self.statuses = Slots("requests for artifact statuses", STATUSES_PER_PRINCIPAL, STATUSES)
        self.uploads = Slots("uploads", UPLOADS_PER_PRINCIPAL, UPLOADS)
        self._sent = set[asyncio.Task[bytes]]()

    async def send(self, rpc: Rpc, call: ActiveCall, binding: Binding, request: bytes) -> bytes:
        """Return the driver's answer. Raises `grpc.aio.AioRpcError`, `GatewayError`."""
        if rpc is ANALYZE_PLAN:
            return await self._analyse(call, binding, request)
        await self.others.take(call.caller.principal)
        task = self._begin(rpc, call, request)
        task.add_done_callback(lambda _: self.others.release(call.caller.principal))
        return await self._answer(call, task)

    async def close(self) -> None:
        """Cancel the calls that are still running."""
        for task in tuple(self._sent):
            task.cancel()
        await asyncio.gather(*self._sent, return_exceptions=True)

    async def _analyse(self, call: ActiveCall, binding: Binding, request: bytes) -> bytes:
        principal = call.caller.principal
        operation = Operation(
            binding.key,
            f"analysis:{uuid.uuid4()}",
            binding.handle,
            principal,
            call.backend,
            size=len(request),
            kind=OperationKind.ANALYSIS,
        )
        await self.analyses.take(principal)
        try:
            self._operations.begin(operation)
        except GatewayError:
            self.analyses.release(principal)
            raise
        task = self._begin(ANALYZE_PLAN, call, request)

        def ended(_: "asyncio.Task[bytes]") -> None:
            self._operations.end(operation)
            self.analyses.release(principal)

        task.add_done_callback(ended)
        with self._operations.attach(operation):
            return await self._answer(call, task)

    def _begin(self, rpc: Rpc, call: ActiveCall, request: bytes) -> "asyncio.Task[bytes]":
        """Start a call that continues until the driver responds, even if the client disconnects."""
        # At a deadline gRPC would cancel only its own side, and the driver would continue the analysis.
        within = {"seconds": None} if rpc is ANALYZE_PLAN else {}
        task = asyncio.create_task(call.backend.unary(rpc, request, **within), name=rpc.name)
        self._sent.add(task)
        task.add_done_callback(self._sent.discard)
        task.add_done_callback(retrieve_exception)
        return task

    async def _answer(self, call: ActiveCall, task: "asyncio.Task[bytes]") -> bytes:
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled() and call.backend.closed:
                # The channel was closed during the call: the client is still connected, but the driver has ended.
                raise DriverGoneError(NOT_READY) from None
            raise
