"""One connection of a client: how large a head may be, how many requests may wait, and how long it is kept where nothing goes on."""

from asyncio import TimerHandle, Transport
from collections import Counter
from http import HTTPStatus
from typing import Any, Final

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from headgate.endpoints.common.problems import problem_response
from headgate.endpoints.http.fast_path import FastPath
from headgate.endpoints.http.limits import Limits
from headgate.endpoints.http.rate_limits import network_of
from headgate.endpoints.http.request_context import logger

MAX_PIPELINED: Final = 4
"""Requests of a connection that may wait for the one before them. Each has cost memory and time before its rate is asked for."""


_LENGTHS: Final = (b"content-length", b"transfer-encoding")


class _AmbiguousError(Exception):
    """Two readers could read a request differently."""


class _PipelineFullError(Exception):
    """A client sends more requests than may wait for their answers."""


def build_connection_class(
    limits: Limits, express: FastPath | None = None, *, behind_proxies: bool = False
) -> type[HttpToolsProtocol]:
    """Return uvicorn's connection with these limits, and with what answers at once, for its setting `http`.

    Behind proxies, many clients have one address: the connections of one are not counted apart then.
    """

    class Limited(Connection):
        allowed = limits
        short = express
        by_network = None if behind_proxies else Counter[str]()

    return Limited


class Connection(HttpToolsProtocol):
    """uvicorn's connection within limits.

    By itself it waits for ever for a head of any size, takes trailers for headers, and queues as many requests as are sent.
    """

    parser: Any
    allowed = Limits()
    short: FastPath | None = None
    _body: bytes | None = None
    """What has come of the body of a request that might be answered at once."""
    _size = 0
    """Of what has come at once; a request that is answered at once is no larger."""
    _in_head = False
    _unfinished = 0
    _timer: TimerHandle | None = None
    _watch: TimerHandle | None = None
    _answered = 0
    _resumed = 0
    """How often so much of an answer was taken by the client that more of it could be written."""
    _seen: tuple[int, int, int] | None = None
    """The two at the last look, and how many bytes of answers the client had not taken."""
    _running: RequestResponseCycle | None = None
    _network = ""
    by_network: Counter[str] | None = None
    """How many connections each address, or IPv6 network, has open."""

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first head, unless there are too many connections already."""
        super().connection_made(transport)
        self._wait()
        self._look_later()
        if len(self.connections) > self.allowed.connections:
            self._refuse(503, "busy", "there are too many connections; try again in a second")
        elif self._count_in_network(1) > self.allowed.network_connections:
            self._refuse(503, "busy", "your network has too many connections; close some, or try again in a second")

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._wait_no_longer()
        if self._watch is not None:
            self._watch.cancel()
        self._count_in_network(-1)
        if self._running is not None and not self._running.response_complete:
            # uvicorn tells only the last request of the connection, and another may be under way.
            self._running.disconnected = True
            self._running.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what has come, unless too much of one head has come already."""
        if self._in_head and self._unfinished > self.allowed.header_bytes:
            self._refuse(431, "headers-too-large", f"a request's head has at most {self.allowed.header_bytes} bytes")
            return
        self._size = len(data)
        self._unset_keepalive_if_required()
        self._parse(data)
        if self._in_head:
            self._unfinished += len(data)
            self._wait()
        elif self._body is not None and not self.transport.is_closing():
            self._fall_back()

    def _parse(self, data: bytes) -> None:
        """Parse what has come. No other protocol is spoken here: what follows a request for one is the next request."""
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

    def _should_upgrade(self) -> bool:
        return False

    def on_message_begin(self) -> None:
        """Begin to read a head; whoever has not sent the rest of it yet is waited for."""
        if len(self.pipeline) >= MAX_PIPELINED:
            raise _PipelineFullError
        self._in_head, self._unfinished = True, 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header. One that follows the body is none: what was checked must stay as it is."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Serve the request."""
        self._in_head = False
        self._wait_no_longer()
        if self.parser.should_upgrade() and self._has_body():
            # The parser takes no body after such a head: it would read the body as the next request.
            raise _AmbiguousError
        if self.short is not None and not self._unfinished and self._is_alone():
            self._body = b""
        else:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Keep or hand on what has come of the body."""
        if self._body is None:
            super().on_body(body)
        else:
            self._body += body

    def on_message_complete(self) -> None:
        """Answer at once, or let the request go on."""
        if self._body is not None:
            answer = self._at_once(self._body)
            if answer is not None:
                self._body = None
                self.transport.write(answer)
                self.on_response_complete()
                return
            self._fall_back()
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 (uvicorn says it in its own words)
        """Refuse what is not HTTP."""
        if len(self.pipeline) >= MAX_PIPELINED:
            self._refuse(
                429, "too-many-requests", f"more than {MAX_PIPELINED} requests wait for answers; read those first"
            )
        else:
            self._refuse(400, "ambiguous", "this is not one HTTP request after the other")

    def resume_writing(self) -> None:
        """Write on: the client has taken what there was."""
        self._resumed += 1
        super().resume_writing()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        """Go on with the next request."""
        self._answered += 1
        super().on_response_complete()

    def _has_body(self) -> bool:
        """Return whether the head that is complete says that a body follows."""
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
        """Say whether it is a POST that nothing else of this connection waits for, and that does not end it."""
        parser: Any = self.parser
        cycle = self.cycle
        return (
            parser.get_method() == b"POST"
            and parser.get_http_version() == "1.1"
            and parser.should_keep_alive()
            and not parser.should_upgrade()
            and (cycle is None or cycle.response_complete)
            and not self.flow.write_paused
        )

    def _at_once(self, body: bytes) -> bytes | None:
        if self.short is None:
            return None
        first = self.server_state.default_headers
        try:
            return self.short.answer(self.url, self.headers, body, self._size, first, self.scheme or "http")
        except Exception:  # noqa: BLE001 (it goes wrong again the usual way, where that has an answer)
            logger.exception("a request could not be answered at once")
            return None

    def _fall_back(self) -> None:
        body, self._body = self._body or b"", None
        super().on_headers_complete()
        if body:
            super().on_body(body)

    def _count_in_network(self, change: int) -> int:
        """Return how many connections the network of the client has then; 0 where they are not counted."""
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
        """End the connection where nothing but bytes without meaning has come, or gone, since the last look.

        uvicorn waits for no request once any byte has come, and for ever until a client has taken its answers.
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
