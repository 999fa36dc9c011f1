"""Revocation: running operations are reported every few seconds, and cancelled if a privilege was revoked."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

import grpc
import grpc.aio

from headgate.control.kernel.supervision import BackgroundTask, BackgroundTasks
from headgate.spark.authority import STREAM, Authority, OperationReport, Revocation, Running
from headgate.spark.gateway.errors import GatewayError, RequestRefusedError, UnavailableError
from headgate.spark.gateway.interrupts import Interrupts, wait_briefly
from headgate.spark.gateway.metrics import GatewayCounts
from headgate.spark.gateway.operations import Operation, OperationKind, Operations
from headgate.spark.gateway.session_bindings import Binding, Bindings

log = logging.getLogger(__name__)

REVOCATION_CHECK_SECONDS: Final = 2.0
"""Seconds between two reports. An operation ends within ten seconds after a privilege that it requires is revoked."""

_UNHEARD: Final = 6.0
"""After this number of seconds without a complete report, no call is served and all operations are cancelled."""
_HANGS: Final = 10.0
"""After this number of seconds without a complete report, the watch itself is restarted."""
_LOOK_EVERY: Final = 1.0
_END_WITHIN: Final = 3.0
"""Seconds for which a report waits until an operation has ended. A longer cancellation continues during the next report."""
_AWAY: Final = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
_UNWATCHED: Final = (
    f"access could not be decided for more than {_UNHEARD:.0f} seconds, so no call is served; retry in a few seconds"
)
_UNDECIDED: Final = (
    f"access could not be decided for more than {_UNHEARD:.0f} seconds, so the operation was cancelled; "
    "check what it has changed before you run it again"
)


class RevocationWatch:
    """Cancels operations and streams that require a revoked privilege.

    Two tasks: one reports; the other checks that reports arrive, and cancels all operations if they do not. Every call
    and every relayed message also checks the time of the last report, so that results stop even if both tasks are dead.
    """

    def __init__(
        self,
        authority: Authority,
        bindings: Bindings,
        operations: Operations,
        interrupts: Interrupts,
        counts: GatewayCounts,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._authority = authority
        self._bindings = bindings
        self._operations = operations
        self._interrupts = interrupts
        self._counts = counts
        self._clock = clock
        self._ended: tuple[tuple[str, str], ...] = ()
        self._heard = clock()
        self._tasks: tuple[BackgroundTask, ...] = ()
        self.background = BackgroundTasks()

    def start(self) -> None:
        """Start to report, in the running event loop."""
        self._heard = self._clock()
        endangers = "revoking a privilege does not cancel running statements"
        self._tasks = (
            self.background.start_task("revocation watch", self._report, endangers),
            self.background.start_task("watch of the revocation watch", self._look, endangers),
        )

    async def stop(self) -> None:
        """Stop reporting."""
        for task in self._tasks:
            await task.stop()

    def require_current(self) -> None:
        """Raise `UnavailableError` while a revoked privilege would not cancel running operations."""
        if self._clock() - self._heard > _UNHEARD:
            raise UnavailableError(_UNWATCHED)

    async def tick(self) -> None:
        """Report once, and cancel the operations that are no longer allowed."""
        for each in self._operations.list_unattended():
            self._interrupts.end(each)
        running = self._operations.list_running()
        for each in running:
            self._bindings.touch(self._bindings.find(each.key, each.backend))
        self._bindings.prune()
        used = self._bindings.take_used()
        figures = self._counts.figures(len(self._bindings), len(running), self.background.deaths)
        reported = (*map(self._running, running), *map(_streams, self._bindings.list_streaming()))
        report = OperationReport(reported, used, self._ended, figures, self._clock() - self._heard)
        try:
            verdicts = await self._authority.report(report)
        except BaseException:
            self._bindings.put_back(used)
            raise
        ended = await asyncio.gather(*map(self._end, verdicts.refused))
        self._ended = tuple((each.handle, each.operation) for each in ended if each is not None)
        self._bindings.drop(verdicts.gone)
        self._heard = self._clock()

    async def _report(self) -> None:
        while True:
            await asyncio.sleep(REVOCATION_CHECK_SECONDS)
            try:
                await self.tick()
            except GatewayError as error:
                log.warning(
                    "the gateway could not report its running operations to the server (%s); the next report is in %g s",
                    error,
                    REVOCATION_CHECK_SECONDS,
                )
            except Exception:
                log.exception(
                    "the gateway could not report its running operations to the server; the next report is in %g s",
                    REVOCATION_CHECK_SECONDS,
                )

    async def _look(self) -> None:
        """Cancel all operations while no report succeeds, and restart a watch that hangs."""
        restarted = self._clock()
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            late = self._clock() - self._heard
            if late > _UNHEARD:
                self._cut_all()
            if late > _HANGS and self._clock() - restarted > _HANGS:
                restarted = self._clock()
                self._tasks[0].restart()

    def _cut_all(self) -> None:
        """Cancel every operation: no decision allows them to continue."""
        running = [each for each in self._operations.list_running() if each.error is None]
        if running:
            log.error(
                "the gateway cancels %d operations, because access could not be decided for more than %g s; check that the server responds",
                len(running),
                _UNHEARD,
            )
        for each in running:
            each.abort(RequestRefusedError(_UNDECIDED))
            if each.kind is OperationKind.STATEMENT:
                self._interrupts.end(each)

    def _running(self, operation: Operation) -> Running:
        binding = self._bindings.find(operation.key, operation.backend)
        return Running(operation.handle, operation.id, binding.credential)

    async def _end(self, refused: Revocation) -> Revocation | None:
        """Cancel a refused operation or stream; return it if the server need not refuse it again."""
        try:
            if not refused.operation.startswith(STREAM):
                return await self._cut(refused)
            await asyncio.wait_for(self._stop(refused), _END_WITHIN)
        except grpc.aio.AioRpcError as error:
            if error.code() in _AWAY:
                log.warning(
                    "a streaming query that is no longer allowed still runs, because the Spark driver could not be reached; the gateway retries after the next report"
                )
                return None
            # The stream, and perhaps its session, has already ended.
        except Exception:
            log.exception(
                "an operation that is no longer allowed could not be cancelled; the gateway retries after the next report"
            )
            return None
        return refused

    async def _cut(self, refused: Revocation) -> Revocation | None:
        operation = self._operations.of_handle(refused.handle, refused.operation)
        if operation is None:
            return refused
        if operation.error is None:
            self._counts.cut += 1
        operation.abort(RequestRefusedError(refused.message))
        if operation.kind is OperationKind.STATEMENT:
            await wait_briefly(self._interrupts.end(operation), _END_WITHIN)
        return refused if operation.ended else None

    async def _stop(self, refused: Revocation) -> None:
        binding = self._bindings.of_handle(refused.handle)
        if binding is None or binding.backend is None:
            return
        self._counts.cut += 1
        id = refused.operation.removeprefix(STREAM)
        await binding.backend.stop_streams(binding.key, id)
        binding.streams = binding.streams and bool(id)


def _streams(binding: Binding) -> Running:
    """Return the report that a session may have streams; without a stream's id, the entry covers all of them."""
    return Running(binding.handle, STREAM, binding.credential)
