"""Keeps one server busy: so many connections, each with one request at a time, and every answer looked at."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any, cast

from bench.http_engines.case import Case, Exchange, WrongAnswerError

HOST = "127.0.0.1"

Says = Callable[[bytes], Any]
"""What the body of an answer says, to be compared with what is right."""


@dataclass(slots=True)
class Taken:
    """How many nanoseconds each case took, and how many seconds all of them took together."""

    each: list[int] = field(default_factory=list[int])
    seconds: float = 0.0


async def load(port: int, says: Says, cases: Iterator[Case], clients: int, seconds: float) -> Taken:
    """Let clients take cases in turn until the time is over or there are none left.

    Raises:
        WrongAnswerError: an answer is an error, or says something else than what is right.
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
    """One connection. It is as bare as can be: any client library takes longer than the servers do."""

    def __init__(self, says: Says, cases: Iterator[Case], taken: Taken) -> None:
        self._says = says
        self._cases = cases
        self._taken = taken
        self._received = b""
        self._until = self._began = 0
        self.ended = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        self._transport = cast("asyncio.Transport", transport)

    def start(self, until: int) -> None:
        """Take cases from now until then (nanoseconds)."""
        self._until = until
        self._next_case()

    def data_received(self, data: bytes) -> None:
        """Look at an answer as soon as it is whole, and go on."""
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

    def connection_lost(self, exc: Exception | None) -> None:
        """Say so where an answer was awaited."""
        self._end(exc or WrongAnswerError("the server closed the connection"))

    def close(self) -> None:
        """Let go of the connection."""
        self._transport.abort()

    def _look(self, body: bytes) -> None:
        status = int(self._received[9:12])
        said = self._says(body) if status < 300 else status  # noqa: PLR2004 - everything above is an error
        if said != self._asked.right:
            raise WrongAnswerError(f"{self._asked.request[-300:]!r}: {self._asked.right}, not {said} ({body[:300]!r})")

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
    """Return the body of an answer, or None while it is not whole."""
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
