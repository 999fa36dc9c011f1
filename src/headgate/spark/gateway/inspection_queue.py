"""The order of inspections: each principal in turn, and small requests apart from large ones, so that no principal waits for another.

Threads share one processor in Python, and it goes from one to the next every few milliseconds. So what bounds the wait of
one request is how many threads there are, and how long one request takes at most (`wire_format.MAX_PARTS`).
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
"""Of one inspection. One takes a second or two at most, unless it asks for many paths or the machine is busy."""
SMALL_BYTES: Final = 64 * 1024
"""A request of this size, unpacked, is inspected within 0.1 s."""
_SMALL_THREADS: Final = 4
_LARGE_THREADS: Final = 2
MAX_WAITING: Final = 1000
"""Requests of one principal in one lane, beside the one that is inspected."""
_MAX_WAITING_BYTES: Final = 384 * 1024 * 1024
"""Of the large requests of one principal that wait or are inspected: room for three of the largest."""


class Inspections:
    """Reads requests on threads. Of one event loop."""

    def __init__(self) -> None:
        self.small = Lane(_SMALL_THREADS)
        self.large = Lane(_LARGE_THREADS)

    async def run(self, rpc: Rpc, data: bytes, caller: Caller, may_touch: MayAccess) -> Admitted:
        """Return the checked request. Raises `GatewayError`s."""
        if len(data) <= SMALL_BYTES:
            # A plan that is large once it is unpacked is met after as many bytes.
            with suppress(LargePlanError):
                return await self.small.run(
                    caller.principal, len(data), _work(rpc, data, caller, may_touch, SMALL_BYTES)
                )
        size = max(len(data), SMALL_BYTES)
        return await self.large.run(caller.principal, size, _work(rpc, data, caller, may_touch, MAX_PLAN_BYTES))

    def close(self) -> None:
        """End the threads once they have nothing to do."""
        self.small.close()
        self.large.close()


def _work(rpc: Rpc, data: bytes, caller: Caller, may_touch: MayAccess, most: int) -> Callable[[], Admitted]:
    def work() -> Admitted:
        deadline = time.monotonic() + INSPECTION_SECONDS

        def require_time() -> None:
            if time.monotonic() > deadline:
                raise TooComplexError(
                    f"the request takes more than {INSPECTION_SECONDS:.0f} seconds to check; split it, or name fewer paths"
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
    """Threads that inspect one request of each principal at a time, in the order of the principals' turns."""

    def __init__(self, threads: int) -> None:
        self._threads = build_inspector(threads)
        self._lines: dict[PrincipalId, _Line] = {}

    async def run(self, principal: PrincipalId, size: int, work: Callable[[], Admitted]) -> Admitted:
        """Return what the work returns, on a thread. Raises `ExhaustedError`, and what the work raises."""
        line = self._enter(principal, size)
        try:
            await line.turn.acquire()
        except BaseException:
            self._leave(principal, size)
            raise
        return await asyncio.wrap_future(self._begin(line, principal, size, work))

    def close(self) -> None:
        """End the threads once they have nothing to do."""
        self._threads.shutdown(wait=False)

    def _begin(self, line: _Line, principal: PrincipalId, size: int, work: Callable[[], Admitted]) -> Future[Admitted]:
        loop = asyncio.get_running_loop()

        def end() -> None:
            line.turn.release()
            self._leave(principal, size)

        def ended(_: Future[Admitted]) -> None:
            with suppress(RuntimeError):  # the loop has ended, and nothing waits any more
                loop.call_soon_threadsafe(end)

        try:
            begun = self._threads.submit(work)
        except BaseException:
            end()
            raise
        # What a thread has begun goes on when its client has left, and keeps the principal's turn until it ends.
        begun.add_done_callback(ended)
        return begun

    def _enter(self, principal: PrincipalId, size: int) -> _Line:
        line = self._lines.setdefault(principal, _Line())
        if line.requests > MAX_WAITING or (line.requests and line.bytes + size > _MAX_WAITING_BYTES):
            raise ExhaustedError(
                "too many of your requests wait to be checked, or they are too large together; wait for one of them to end"
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
