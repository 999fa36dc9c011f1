"""No request lasts for ever."""

import asyncio

from starlette.types import ASGIApp, Receive, Scope, Send

from headgate.doors.http.exchange import EXCHANGE
from headgate.doors.problems import problem


class Deadlines:
    """Gives up on an answer that takes too long. An answer that has begun is cut off."""

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        self._app = app
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        deadline = asyncio.timeout(self._seconds)
        try:
            async with deadline:
                await self._app(scope, receive, send)
        except TimeoutError:
            if not deadline.expired() or scope[EXCHANGE].status:
                raise
            answer = problem(503, "too-slow", f"this was not done within {self._seconds:g} seconds")
            answer.headers["retry-after"] = "1"
            await answer(scope, receive, send)
