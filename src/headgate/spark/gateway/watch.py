"""What is under way is reported every few seconds, and what may not go on is ended."""

import asyncio
import logging
import time
from typing import Final

import grpc
import grpc.aio

from headgate.spark.gateway.authority import STREAM, Authority, Refused, Report, Running
from headgate.spark.gateway.bindings import Binding, Bindings
from headgate.spark.gateway.counts import Counts
from headgate.spark.gateway.errors import GatewayError
from headgate.spark.gateway.operations import Operation, Operations

log = logging.getLogger(__name__)

EVERY: Final = 2.0
"""Seconds between two reports. Work ends within ten seconds of the revoke of a right that it stands on."""

_UNHEARD: Final = 6.0
"""After so many seconds without an answer nothing goes on."""
_AWAY: Final = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
_UNDECIDED: Final = "whether this may go on could not be decided for some seconds, so it was ended; try again"


class Watch:
    """Ends operations and streams that may not go on."""

    def __init__(self, authority: Authority, bindings: Bindings, operations: Operations, counts: Counts) -> None:
        self._authority = authority
        self._bindings = bindings
        self._operations = operations
        self._counts = counts
        self._ended: tuple[tuple[str, str], ...] = ()

    async def run(self) -> None:
        """Report until cancelled."""
        heard = time.monotonic()
        while True:
            await asyncio.sleep(EVERY)
            try:
                await self.once()
                heard = time.monotonic()
            except GatewayError as error:
                log.warning("what is under way could not be reported: %s", error)
                if time.monotonic() - heard > _UNHEARD:
                    await self._cut_all()

    async def once(self) -> None:
        """Report once, and end what may not go on."""
        running = [each for each in self._operations.running() if not each.interrupted]
        for each in running:
            self._bindings.touch(self._bindings.find(each.key, each.backend))
        self._bindings.prune()
        used = self._bindings.take_used()
        figures = self._counts.figures(len(self._bindings), len(running))
        report = Report(
            (*map(self._running, running), *map(_streams, self._bindings.streaming())), used, self._ended, figures
        )
        try:
            verdicts = await self._authority.report(report)
        except GatewayError:
            self._bindings.put_back(used)
            raise
        ended = await asyncio.gather(*map(self._end, verdicts.refused))
        self._ended = tuple((each.handle, each.operation) for each in ended if each is not None)
        self._bindings.drop(verdicts.gone)

    async def _cut_all(self) -> None:
        """End every operation: nobody says that they may go on."""
        running = [each for each in self._operations.running() if not each.interrupted]
        await asyncio.gather(*(self._end(Refused(each.handle, each.id, _UNDECIDED)) for each in running))

    def _running(self, operation: Operation) -> Running:
        binding = self._bindings.find(operation.key, operation.backend)
        return Running(operation.handle, operation.id, binding.credential)

    async def _end(self, refused: Refused) -> Refused | None:
        """End what is refused; return it if it need not be said again."""
        try:
            if refused.operation.startswith(STREAM):
                await self._stop(refused)
            else:
                await self._cut(refused)
        except grpc.aio.AioRpcError as error:
            if error.code() in _AWAY:
                log.warning("the driver could not be told to end an operation that is refused")
                return None
            # It has ended already, and perhaps its session with it.
        return refused

    async def _cut(self, refused: Refused) -> None:
        operation = self._operations.of_handle(refused.handle, refused.operation)
        if operation is None:
            return
        if operation.refusal is None:
            self._counts.cut += 1
            operation.cut(refused.message)
        await operation.backend.interrupt(operation.key, operation.id)
        operation.interrupted = True

    async def _stop(self, refused: Refused) -> None:
        binding = self._bindings.of_handle(refused.handle)
        if binding is None or binding.backend is None:
            return
        self._counts.cut += 1
        id = refused.operation.removeprefix(STREAM)
        binding.streams = binding.streams and bool(id)
        await binding.backend.stop_streams(binding.key, id)


def _streams(binding: Binding) -> Running:
    """Return that a session may have streams: without a name, it stands for all of them."""
    return Running(binding.handle, STREAM, binding.credential)
