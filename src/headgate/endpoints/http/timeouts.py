"""Timeouts of requests: one timer for all of them."""

import asyncio

from starlette.types import ASGIApp, Receive, Scope, Send

from headgate.endpoints.common.problems import problem_response
from headgate.endpoints.http.request_context import EXCHANGE

_LOOKS = 4
"""Checks per timeout: a request may run a quarter longer than its timeout."""
_SELDOM = 1.0


class TimeoutMiddleware:
    """The deadline of one task, in the loop's time, and whether the task was cancelled at it."""

    __slots__ = ("passed", "task", "until")

    def __init__(self, task: asyncio.Task[object], until: float) -> None:
        self.task = task
        self.until = until
        self.passed = False


class TimeoutTimer:
    """Cancels tasks after their deadline. A timer per task would cost every request more than the delay of this one does."""

    def __init__(self, seconds: float) -> None:
        """`seconds` is the timeout of each task."""
        self._seconds = seconds
        self._every = min(_SELDOM, seconds / _LOOKS)
        self._running: set[TimeoutMiddleware] = set()
        self._next: asyncio.TimerHandle | None = None

    def begin(self) -> TimeoutMiddleware:
        """Start the timeout of the current task; `end` stops it."""
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        assert task is not None  # noqa: S101 (code that awaits runs in a task)
        deadline = TimeoutMiddleware(task, loop.time() + self._seconds)
        self._running.add(deadline)
        if self._next is None:
            self._next = loop.call_later(self._every, self._look, loop)
        return deadline

    def end(self, deadline: TimeoutMiddleware) -> None:
        """Stop the timeout of a task."""
        self._running.discard(deadline)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for deadline in [each for each in self._running if each.until <= now]:
            self._running.discard(deadline)
            deadline.passed = True
            deadline.task.cancel()
        self._next = loop.call_later(self._every, self._look, loop) if self._running else None


class Deadlines:
    """Cancels requests that take too long: responds 503, or cuts off a response that has begun."""

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        self._app = app
        self._seconds = seconds
        self._timer = TimeoutTimer(seconds)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        deadline = self._timer.begin()
        try:
            await self._app(scope, receive, send)
        except asyncio.CancelledError:
            if not deadline.passed or deadline.task.uncancel():
                raise
            if scope[EXCHANGE].status:
                raise TimeoutError from None
            answer = problem_response(
                503,
                "too-slow",
                (
                    f"the request took longer than {self._seconds:g} seconds; it may have had an effect; check "
                    "for the effect before you retry"
                ),
            )
            answer.headers["retry-after"] = "1"
            await answer(scope, receive, send)
        finally:
            self._timer.end(deadline)
