"""Fair queue of inspections: one request of each principal at a time, and small requests apart from large ones.

So no principal waits for another. Python's threads share one processor and switch every few milliseconds. The number of
threads and the longest inspection of one request (`wire_format.MAX_PARTS`) therefore bound the wait of a request.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId
from headgate.spark.gateway.admission import Admitted, admit, build_inspector
from headgate.spark.gateway.errors import ExhaustedError, TooComplexError
from headgate.spark.gateway.policy.plans import MAX_PLAN_BYTES, LargePlanError
from headgate.spark.gateway.policy.rules import MayAccess, RequestingCaller
from headgate.spark.gateway.rpcs import Rpc

INSPECTION_SECONDS: Final = 30.0
"""The time limit of one inspection. One takes at most two seconds, unless it checks many paths or the machine is busy."""
TINY_BYTES: Final = 1024
"""The size limit of requests that are inspected at once, on the event loop: one takes at most a few milliseconds."""
SMALL_BYTES: Final = 64 * 1024
"""The size limit of small requests, after decompression. One is inspected within 0.1 s."""
_SMALL_THREADS: Final = 4
_LARGE_THREADS: Final = 2
MAX_WAITING: Final = 1000
"""The limit of waiting requests of one principal in one lane, beside the one under inspection."""
_MAX_WAITING_BYTES: Final = 384 * 1024 * 1024
"""The limit of bytes of one principal's requests in one lane, waiting or under inspection: three of the largest requests."""


class Inspections:
    """Inspects requests on threads. Bound to one event loop."""

    def __init__(self) -> None:
        self.small = Lane(_SMALL_THREADS)
        self.large = Lane(_LARGE_THREADS)

    async def run(self, rpc: Rpc, data: bytes, caller: Caller, may_touch: MayAccess) -> Admitted:
        """Return the checked request. Raises `GatewayError`s."""
        if len(data) <= TINY_BYTES:
            with suppress(LargePlanError, _WaitsError):
                return admit(rpc, data, RequestingCaller(caller, _wait), TINY_BYTES)
        if len(data) <= SMALL_BYTES:
            # Decompression stops at this size: a small request with a larger plan goes to the other lane.
            with suppress(LargePlanError):
                return await self.small.run(
                    caller.principal, len(data), _work(rpc, data, caller, may_touch, SMALL_BYTES)
                )
        size = max(len(data), SMALL_BYTES)
        return await self.large.run(caller.principal, size, _work(rpc, data, caller, may_touch, MAX_PLAN_BYTES))

    def close(self) -> None:
        """End the threads once they are idle."""
        self.small.close()
        self.large.close()


class _WaitsError(Exception):
    """The inspection has to wait for an answer, which the event loop cannot."""


def _wait(_caller: Caller, _action: str, _path: str) -> bool:
    raise _WaitsError


def _work(rpc: Rpc, data: bytes, caller: Caller, may_touch: MayAccess, most: int) -> Callable[[], Admitted]:
    def work() -> Admitted:
        deadline = time.monotonic() + INSPECTION_SECONDS

        def require_time() -> None:
            if time.monotonic() > deadline:
                raise TooComplexError(
                    f"the request takes more than {INSPECTION_SECONDS:.0f} seconds to check; split the request, or name fewer paths in it"
                )

        def may_touch_in_time(caller: Caller, action: str, path: str) -> bool:
            require_time()
            return may_touch(caller, action, path)

        return admit(rpc, data, RequestingCaller(caller, may_touch_in_time, require_time), most)

    return work


@dataclass(slots=True)
class _Line:
    """The requests of one principal in one lane."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    requests: int = 0
    bytes: int = 0


class Lane:
    """Threads that inspect one request of each principal at a time, in the order in which the requests get their turn."""

    def __init__(self, threads: int) -> None:
        self._threads = build_inspector(threads)
        self._lines: dict[PrincipalId, _Line] = {}

    async def run(self, principal: PrincipalId, size: int, work: Callable[[], Admitted]) -> Admitted:
        """Run the work on a thread and return its result. Raises `ExhaustedError`, and the errors of the work."""
        line = self._enter(principal, size)
        try:
            await line.turn.acquire()
        except BaseException:
            self._leave(principal, size)
            raise
        return await asyncio.wrap_future(self._begin(line, principal, size, work))

    def close(self) -> None:
        """End the threads once they are idle."""
        self._threads.shutdown(wait=False)

    def _begin(self, line: _Line, principal: PrincipalId, size: int, work: Callable[[], Admitted]) -> Future[Admitted]:
        loop = asyncio.get_running_loop()

        def end() -> None:
            line.turn.release()
            self._leave(principal, size)

        def ended(_: Future[Admitted]) -> None:
            with suppress(RuntimeError):  # the loop is closed, and no caller waits any more
                loop.call_soon_threadsafe(end)

        try:
            begun = self._threads.submit(work)
        except BaseException:
            end()
            raise
        # Work on a thread continues after its client has disconnected, and keeps the principal's turn until it ends.
        begun.add_done_callback(ended)
        return begun

    def _enter(self, principal: PrincipalId, size: int) -> _Line:
        line = self._lines.setdefault(principal, _Line())
        if line.requests > MAX_WAITING:
            raise ExhaustedError(
                f"too many of your requests wait to be checked (at most {MAX_WAITING:,}); wait for one of them to end"
            )
        if line.requests and line.bytes + size > _MAX_WAITING_BYTES:
            raise ExhaustedError(
                "your requests that wait to be checked are too large together "
                f"(at most {_MAX_WAITING_BYTES // 1024 // 1024} MiB); wait for one of them to end"
            )
        line.requests += 1
        line.bytes += size
        return line

    def _leave(self, principal: PrincipalId, size: int) -> None:
        line = self._lines[principal]
        line.requests -= 1
        line.bytes -= size
        if not line.requests:
            del self._lines[principal]
