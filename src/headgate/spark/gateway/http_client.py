"""HTTP client for one server on this machine, with keep-alive connections: a request takes a fraction of a millisecond."""

import asyncio
from collections.abc import Callable
from typing import Final, cast
from urllib.parse import urlsplit

import httptools
from typing_extensions import override

_CONNECTIONS: Final = 64


class NoResponseError(Exception):
    """The server did not respond."""


class HttpClient:
    """Sends JSON to the server. Bound to one event loop."""

    def __init__(self, url: str, key: str) -> None:
        """`url` is the server's address, `key` the bearer token of every request."""
        address = urlsplit(url)
        self._host, self._port = address.hostname or "", address.port or 0
        self._head = (
            f"HTTP/1.1\r\nhost: {address.netloc}\r\nauthorization: Bearer {key}\r\n"
            "content-type: application/json\r\ncontent-length: "
        )
        self._free: list[_Connection] = []
        self._room = asyncio.Semaphore(_CONNECTIONS)

    async def post(self, path: str, body: bytes, within: float) -> tuple[int, bytes]:
        """Return the status and the body of the response. Raises `NoResponseError` after `within` seconds at the latest."""
        request = f"POST {path} {self._head}{len(body)}\r\n\r\n".encode() + body
        try:
            async with asyncio.timeout(within), self._room:
                return await self._answer(request)
        except (OSError, TimeoutError, httptools.HttpParserError) as error:
            raise NoResponseError(str(error)) from None

    def close(self) -> None:
        """Close every connection."""
        while self._free:
            self._free.pop().close()

    async def _answer(self, request: bytes) -> tuple[int, bytes]:
        while self._free:
            kept = self._free.pop()
            try:
                return await self._ask(kept, request)
            except ConnectionError:
                # The server closed the idle connection, and did not read the request.
                continue
        loop = asyncio.get_running_loop()
        _, fresh = await loop.create_connection(lambda: _Connection(loop.create_future), self._host, self._port)
        return await self._ask(fresh, request)

    async def _ask(self, connection: "_Connection", request: bytes) -> tuple[int, bytes]:
        try:
            answer = await connection.ask(request)
        except BaseException:
            connection.close()
            raise
        self._free.append(connection)
        return answer


class _Connection(asyncio.Protocol):
    """A connection that serves one request at a time."""

    def __init__(self, future: "Callable[[], asyncio.Future[tuple[int, bytes]]]") -> None:
        self._future = future
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._waiting: asyncio.Future[tuple[int, bytes]] | None = None
        self._body = bytearray()

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        if self._transport is None or self._transport.is_closing():
            raise ConnectionResetError
        self._body.clear()
        self._waiting = self._future()
        self._transport.write(request)
        return await self._waiting

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transport has the same interface, but another class.
        self._transport = cast("asyncio.Transport", transport)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(ConnectionResetError())

    @override
    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(error)
            self.close()

    def on_body(self, part: bytes) -> None:
        self._body += part

    def on_message_complete(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result((self._parser.get_status_code(), bytes(self._body)))

    def _fail(self, error: Exception) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(error)
