"""The timeout of requests: one that takes too long is cancelled."""

import asyncio

from starlette.types import ASGIApp, Receive, Scope, Send

from headgate.endpoints.common.problems import problem_response
from headgate.endpoints.http.request_context import EXCHANGE


class TimeoutMiddleware:
    """Cancels requests that take too long: responds 503, or cuts off a response that has begun."""

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        """`seconds` is the timeout of each request."""
        self._app = app
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        timeout = asyncio.timeout(self._seconds)
        try:
            async with timeout:
                await self._app(scope, receive, send)
        except TimeoutError:
            if not timeout.expired() or scope[EXCHANGE].status:
                raise
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
