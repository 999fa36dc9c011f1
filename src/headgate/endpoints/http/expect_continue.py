"""`Expect: 100-continue` (RFC 9110, 10.1.1): a client that asks before it sends a body may leave out a body that is refused."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headgate.endpoints.http.request_context import find_header


class Expectations:
    """Closes the connection of a request that was answered before its body was requested.

    The bytes that follow may be the body or the next request. Read as the wrong one, they would be request smuggling.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or find_header(scope, b"expect") is None:
            await self._app(scope, receive, send)
            return
        is_asked_for = False

        async def ask() -> Message:
            nonlocal is_asked_for
            is_asked_for = True
            return await receive()

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start" and not is_asked_for:
                others = (each for each in message.get("headers", ()) if each[0].lower() != b"connection")
                message = {**message, "headers": [*others, (b"connection", b"close")]}
            await send(message)

        await self._app(scope, ask, answer)
