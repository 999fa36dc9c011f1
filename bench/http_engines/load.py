"""Keeps one server busy: several connections, each with one request at a time, and every response checked."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any, cast

from typing_extensions import override

from bench.http_engines.case import Case, Exchange, WrongAnswerError

HOST = "127.0.0.1"

Says = Callable[[bytes], Any]
"""Reads a response body, for a comparison with the expected result."""


@dataclass(slots=True)
class Taken:
    """The nanoseconds of each case, and the seconds of all of them together."""

    each: list[int] = field(default_factory=list[int])
    seconds: float = 0.0


async def load(port: int, says: Says, cases: Iterator[Case], clients: int, seconds: float) -> Taken:
    """Send cases by several clients in turn, until the time is over or no case is left.

    Raises:
        WrongAnswerError: a response is an error, or is not the expected one.
    """
    loop = asyncio.get_running_loop()
    taken = Taken()
    waiting = [_Client(says, cases, taken) for _ in range(clients)]
    for client in waiting:
        await loop.create_connection(lambda client=client: client, HOST, port)
    began = perf_counter_ns()
    for client in waiting:
        client.start(began + int(seconds * 1e9))
    try:
        await asyncio.gather(*(client.ended for client in waiting))
    finally:
        for client in waiting:
            client.close()
    taken.seconds = (perf_counter_ns() - began) / 1e9
    return taken


class _Client(asyncio.Protocol):
    """One connection. It uses no client library, because these take longer than the servers."""

    def __init__(self, says: Says, cases: Iterator[Case], taken: Taken) -> None:
        self._says = says
        self._cases = cases
        self._taken = taken
        self._received = b""
        self._until = self._began = 0
        self.ended = asyncio.get_running_loop().create_future()

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        self._transport = cast("asyncio.Transport", transport)

    def start(self, until: int) -> None:
        """Send cases until a time, in nanoseconds."""
        self._until = until
        self._next_case()

    @override
    def data_received(self, data: bytes) -> None:
        """Check a response as soon as it is complete, and send the next case."""
        self._received += data
        body = whole(self._received)
        if body is None:
            return
        try:
            self._look(body)
        except WrongAnswerError as error:
            self._end(error)
            return
        self._received = b""
        self._next()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        """End with an error if a response was expected."""
        self._end(exc or WrongAnswerError("the server closed the connection"))

    def close(self) -> None:
        """Close the connection."""
        self._transport.abort()

    def _look(self, body: bytes) -> None:
        status = int(self._received[9:12])
        said = self._says(body) if status < 300 else status  # noqa: PLR2004 - everything above is an error
        if said != self._asked.right:
            raise WrongAnswerError(
                f"{self._asked.request[-300:]!r}: expected {self._asked.right}, got {said} ({body[:300]!r})"
            )

    def _next_case(self) -> None:
        case = next(self._cases, None) if perf_counter_ns() < self._until else None
        if case is None:
            self._end(None)
            return
        self._case, self._left = case, [*reversed(case.timed)]
        self._began = perf_counter_ns()
        self._send(self._left.pop())

    def _next(self) -> None:
        if self._left:
            self._send(self._left.pop())
        elif self._began:
            self._taken.each.append(perf_counter_ns() - self._began)
            self._began = 0
            self._left = [*reversed(self._case.after)]
            self._next()
        else:
            self._next_case()

    def _send(self, exchange: Exchange) -> None:
        self._asked = exchange
        self._transport.write(exchange.request)

    def _end(self, error: Exception | None) -> None:
        if self.ended.done():
            return
        if error is None:
            self.ended.set_result(None)
        else:
            self.ended.set_exception(error)


def whole(received: bytes) -> bytes | None:
    """Return the body of a response, or None while it is incomplete."""
    head, end, body = received.partition(b"\r\n\r\n")
    if not end:
        return None
    head = head.lower()
    length = head.find(b"content-length:")
    if length >= 0:
        size = int(head[length + 15 :].partition(b"\r\n")[0])
        return body if len(body) >= size else None
    if b"transfer-encoding: chunked" in head:
        return _chunks(body) if body.endswith(b"0\r\n\r\n") else None
    return b""  # 204


def _chunks(body: bytes) -> bytes:
    chunks: list[bytes] = []
    while body:
        size, _, rest = body.partition(b"\r\n")
        chunks.append(rest[: int(size, 16)])
        body = rest[int(size, 16) + 2 :]
    return b"".join(chunks)
