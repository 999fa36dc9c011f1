"""Limits of a client's connection: size of a request head, waiting requests, and idle time."""

from asyncio import TimerHandle, Transport
from collections import Counter
from http import HTTPStatus
from typing import Any, Final

import httptools
from typing_extensions import override
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from headgate.endpoints.common.problems import problem_response
from headgate.endpoints.http.fast_path import FastPath
from headgate.endpoints.http.limits import Limits
from headgate.endpoints.http.rate_limits import network_of
from headgate.endpoints.http.request_context import logger

MAX_PIPELINED: Final = 4
"""The number of requests that may wait on a connection. Each costs memory and time before its rate limit is checked."""


_LENGTHS: Final = (b"content-length", b"transfer-encoding")


class _AmbiguousError(Exception):
    """Two HTTP parsers could read a request differently."""


class _PipelineFullError(Exception):
    """A client sends more requests than may wait for responses on one connection."""


def build_connection_class(
    limits: Limits, express: FastPath | None = None, *, behind_proxies: bool = False
) -> type[HttpToolsProtocol]:
    """Return a connection class with these limits and this fast path, for uvicorn's setting `http`.

    Behind proxies, many clients share one address: connections are then not counted per address.
    """

    class Limited(Connection):
        allowed = limits
        short = express
        by_network = None if behind_proxies else Counter[str]()

    return Limited


class Connection(HttpToolsProtocol):
    """uvicorn's connection, with limits.

    uvicorn alone waits without a timeout for a head of any size, reads trailers as headers, and queues any number of requests.
    """

    parser: Any
    allowed = Limits()
    short: FastPath | None = None
    _body: bytes | None = None
    """The received part of the body of a request that may take the fast path; None for other requests."""
    _size = 0
    """The number of bytes received last; a request on the fast path arrives in one piece and is no larger."""
    _has_answered = False
    """Whether the fast path has answered a request in the bytes received last. A further one takes the normal path."""
    _in_head = False
    _unfinished = 0
    _timer: TimerHandle | None = None
    _watch: TimerHandle | None = None
    _answered = 0
    _resumed = 0
    """How often the client read enough of a response for writing to resume."""
    _seen: tuple[int, int, int] | None = None
    """At the last check: `_answered`, `_resumed`, and the number of response bytes that the client had not read."""
    _running: RequestResponseCycle | None = None
    _network = ""
    by_network: Counter[str] | None = None
    """The number of open connections per IPv4 address or IPv6 network; None if they are not counted."""

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Start the timeout for the first head; refuse the connection if there are too many."""
        super().connection_made(transport)
        self._wait()
        self._look_later()
        if len(self.connections) > self.allowed.connections:
            self._refuse(503, "busy", "the server has too many open connections; retry in a second")
        elif self._count_in_network(1) > self.allowed.network_connections:
            self._refuse(503, "busy", "your network has too many open connections; close some, or retry in a second")

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timers, and end the request that is being served."""
        self._wait_no_longer()
        if self._watch is not None:
            self._watch.cancel()
        self._count_in_network(-1)
        if self._running is not None and not self._running.response_complete:
            # uvicorn notifies only the last request of the connection, and an earlier one may be running.
            self._running.disconnected = True
            self._running.message_event.set()
        super().connection_lost(exc)

    @override
    def data_received(self, data: bytes) -> None:
        """Parse received bytes; refuse them if the unfinished head is already too large."""
        if self._in_head and self._unfinished > self.allowed.header_bytes:
            self._refuse(
                431,
                "headers-too-large",
                (
                    f"the request line and the headers have more than {self.allowed.header_bytes} "
                    "bytes; send a shorter URL, or fewer or shorter headers and cookies"
                ),
            )
            return
        self._size = len(data)
        self._has_answered = False
        self._unset_keepalive_if_required()
        self._parse(data)
        if self._in_head:
            self._unfinished += len(data)
            self._wait()
        elif self._body is not None and not self.transport.is_closing():
            self._fall_back()

    def _parse(self, data: bytes) -> None:
        """Parse received bytes. No `Upgrade` is supported: the bytes after such a request are the next request."""
        while data:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                data = data[upgrade.args[0] :]
            except httptools.HttpParserError:
                self.send_400_response("")
                return
            else:
                return

    @override
    def _should_upgrade(self) -> bool:
        return False

    @override
    def on_message_begin(self) -> None:
        """Begin to read a head. Raises `_PipelineFullError` if too many requests wait."""
        if len(self.pipeline) >= MAX_PIPELINED:
            raise _PipelineFullError
        self._in_head, self._unfinished = True, 0
        super().on_message_begin()

    @override
    def on_header(self, name: bytes, value: bytes) -> None:
        """Record a header. A trailer is ignored: it must not change the headers that were checked."""
        if self._in_head:
            super().on_header(name, value)

    @override
    def on_headers_complete(self) -> None:
        """Serve the request, or keep it for the fast path until its body is complete."""
        self._in_head = False
        self._wait_no_longer()
        if self.parser.should_upgrade() and self._has_body():
            # The parser expects no body after an `Upgrade`: it would read the body as the next request (smuggling).
            raise _AmbiguousError
        if self.short is not None and not self._unfinished and self._is_alone():
            self._body = b""
        else:
            super().on_headers_complete()

    @override
    def on_body(self, body: bytes) -> None:
        """Keep a part of the body for the fast path, or pass it on."""
        if self._body is None:
            super().on_body(body)
        else:
            self._body += body

    @override
    def on_message_complete(self) -> None:
        """Answer on the fast path, or pass the request on."""
        if self._body is not None:
            answer = self._at_once(self._body)
            if answer is not None:
                self._body, self._has_answered = None, True
                self.transport.write(answer)
                self.on_response_complete()
                return
            self._fall_back()
        super().on_message_complete()

    @override
    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that are not HTTP, and requests beyond those that may wait."""
        if len(self.pipeline) >= MAX_PIPELINED:
            self._refuse(
                429,
                "too-many-requests",
                (
                    f"more than {MAX_PIPELINED} requests of the connection wait for responses; read "
                    "the responses before you send more requests"
                ),
            )
        else:
            self._refuse(400, "ambiguous", "the bytes on the connection are not a valid HTTP request; send HTTP/1.1")

    @override
    def resume_writing(self) -> None:
        """Resume writing: the client has read enough of the response."""
        self._resumed += 1
        super().resume_writing()

    @override
    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    @override
    def on_response_complete(self) -> None:
        """Count the response and serve the next request."""
        self._answered += 1
        super().on_response_complete()

    def _has_body(self) -> bool:
        """Whether the complete head announces a body."""
        return any(name in _LENGTHS and value != b"0" for name, value in self.headers)

    def _refuse(self, status: int, code: str, detail: str) -> None:
        answer = problem_response(status, code, detail)
        answer.headers["connection"] = "close"
        if status == HTTPStatus.SERVICE_UNAVAILABLE:
            answer.headers["retry-after"] = "1"
        head = b"".join(name + b": " + value + b"\r\n" for name, value in answer.raw_headers)
        self.transport.write(b"HTTP/1.1 %d \r\n%b\r\n%b" % (status, head, answer.body))
        self.transport.close()

    def _is_alone(self) -> bool:
        """Whether the request is a POST, no other request is active on the connection, and the connection stays open."""
        parser: Any = self.parser
        cycle = self.cycle
        return (
            parser.get_method() == b"POST"
            and parser.get_http_version() == "1.1"
            and parser.should_keep_alive()
            and not parser.should_upgrade()
            and not self._has_answered
            and (cycle is None or cycle.response_complete)
            and not self.flow.write_paused
        )

    def _at_once(self, body: bytes) -> bytes | None:
        if self.short is None:
            return None
        first = self.server_state.default_headers
        try:
            return self.short.answer(self.url, self.headers, body, self._size, first, self.scheme or "http")
        except Exception:  # noqa: BLE001 (the normal path serves the request, and answers the error if it occurs again)
            logger.exception("the fast path failed for a request; the normal path serves it")
            return None

    def _fall_back(self) -> None:
        body, self._body = self._body or b"", None
        super().on_headers_complete()
        if body:
            super().on_body(body)

    def _count_in_network(self, change: int) -> int:
        """Change the number of connections of the client's network, and return it; 0 if they are not counted."""
        if self.by_network is None:
            return 0
        if change > 0:
            self._network = network_of(self.client[0]) if self.client else ""
        elif not self._network:
            return 0
        self.by_network[self._network] += change
        if not self.by_network[self._network]:
            del self.by_network[self._network]
        return self.by_network[self._network]

    def _look_later(self) -> None:
        self._watch = self.loop.call_later(self.allowed.header_seconds, self._look)

    def _look(self) -> None:
        """Abort the connection if no request was completed and no response byte was read since the last check.

        uvicorn has no timeout for a request after its first byte, and none for a client that does not read its responses.
        """
        unsent = self.transport.get_write_buffer_size()
        seen, self._seen = self._seen, (self._answered, self._resumed, unsent)
        is_idle = (self.cycle is None or self.cycle.response_complete) and not self.pipeline
        if seen == self._seen and (is_idle or unsent or self.transport.is_closing()):
            self.transport.abort()
        else:
            self._look_later()

    def _wait(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.allowed.header_seconds, self.transport.close)

    def _wait_no_longer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
