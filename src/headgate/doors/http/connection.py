"""One connection of a client: how long and how large the head of a request may be before anybody has read it."""

from asyncio import TimerHandle, Transport
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from headgate.doors.http.exchange import log
from headgate.doors.http.express import Express
from headgate.doors.http.limits import Limits
from headgate.doors.problems import problem


def connections(limits: Limits, express: Express | None = None) -> type[HttpToolsProtocol]:
    """Return uvicorn's connection with these limits, and with what answers at once, for its setting `http`."""

    class Limited(Connection):
        allowed = limits
        short = express

    return Limited


class Connection(HttpToolsProtocol):
    """uvicorn's connection, which by itself waits for ever for a head of any size, and takes trailers for headers."""

    allowed = Limits()
    short: Express | None = None
    _body: bytes | None = None
    """What has come of the body of a request that might be answered at once."""
    _size = 0
    """Of what has come at once; a request that is answered at once is no larger."""
    _in_head = False
    _unfinished = 0
    _timer: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first head, unless there are too many connections already."""
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > self.allowed.connections:
            self._refuse(503, "busy", "there are too many connections; try again in a second")

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._wait_no_longer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what has come, unless too much of one head has come already."""
        if self._in_head and self._unfinished > self.allowed.header_bytes:
            self._refuse(431, "headers-too-large", f"a request's head has at most {self.allowed.header_bytes} bytes")
            return
        self._size = len(data)
        super().data_received(data)
        if self._in_head:
            self._unfinished += len(data)
            self._wait()
        elif self._body is not None and not self.transport.is_closing():
            self._go_the_usual_way()

    def on_message_begin(self) -> None:
        """Begin to read a head; whoever has not sent the rest of it yet is waited for."""
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
            self._go_the_usual_way()
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 (uvicorn says it in its own words)
        """Refuse what is not HTTP."""
        self._refuse(400, "ambiguous", "this is not one HTTP request after the other")

    def _refuse(self, status: int, code: str, detail: str) -> None:
        answer = problem(status, code, detail)
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
            log.exception("a request could not be answered at once")
            return None

    def _go_the_usual_way(self) -> None:
        body, self._body = self._body or b"", None
        super().on_headers_complete()
        if body:
            super().on_body(body)

    def _wait(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.allowed.header_seconds, self.transport.close)

    def _wait_no_longer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
