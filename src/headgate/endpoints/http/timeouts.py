"""No request lasts for ever: one timer looks after all of them."""

import asyncio

from starlette.types import ASGIApp, Receive, Scope, Send

from headgate.endpoints.common.problems import problem_response
from headgate.endpoints.http.request_context import EXCHANGE

_LOOKS = 4
"""How often a request is looked at within its time: it may take a quarter longer than that."""
_SELDOM = 1.0


class TimeoutMiddleware:
    """Until when one task may go on, in the loop's time; and whether it was stopped for that."""

    __slots__ = ("passed", "task", "until")

    def __init__(self, task: asyncio.Task[object], until: float) -> None:
        self.task = task
        self.until = until
        self.passed = False


class TimeoutTimer:
    """Cancels the tasks whose time is over. A timer for each would cost every request more than it costs to be late."""

    def __init__(self, seconds: float) -> None:
        """`seconds` is how long a task has."""
        self._seconds = seconds
        self._every = min(_SELDOM, seconds / _LOOKS)
        self._running: set[TimeoutMiddleware] = set()
        self._next: asyncio.TimerHandle | None = None

    def begin(self) -> TimeoutMiddleware:
        """Look after the task that is running now, until `end`."""
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        assert task is not None  # noqa: S101 (whoever awaits is a task)
        deadline = TimeoutMiddleware(task, loop.time() + self._seconds)
        self._running.add(deadline)
        if self._next is None:
            self._next = loop.call_later(self._every, self._look, loop)
        return deadline

    def end(self, deadline: TimeoutMiddleware) -> None:
        """Look after it no longer."""
        self._running.discard(deadline)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for deadline in [each for each in self._running if each.until <= now]:
            self._running.discard(deadline)
            deadline.passed = True
            deadline.task.cancel()
        self._next = loop.call_later(self._every, self._look, loop) if self._running else None


class Deadlines:
    """Gives up on an answer that takes too long. An answer that has begun is cut off."""

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
            answer = problem_response(503, "too-slow", f"this was not done within {self._seconds:g} seconds")
            answer.headers["retry-after"] = "1"
            await answer(scope, receive, send)
        finally:
            self._timer.end(deadline)
