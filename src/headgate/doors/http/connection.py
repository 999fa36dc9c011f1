"""One connection of a client: how long and how large the head of a request may be before anybody has read it."""

from asyncio import TimerHandle, Transport

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from headgate.doors.http.limits import Limits
from headgate.doors.problems import problem


def connections(limits: Limits) -> type[HttpToolsProtocol]:
    """Return uvicorn's connection with these limits, for its setting `http`."""

    class Limited(Connection):
        allowed = limits

    return Limited


class Connection(HttpToolsProtocol):
    """uvicorn's connection, which by itself waits for ever for a head of any size, and takes trailers for headers."""

    allowed = Limits()
    _in_head = False
    _unfinished = 0
    _timer: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first head."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._wait_no_longer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what has come, unless too much of one head has come already."""
        if self._in_head and self._unfinished > self.allowed.header_bytes:
            self._refuse(431, "headers-too-large", f"a request's head has at most {self.allowed.header_bytes} bytes")
            return
        super().data_received(data)
        if self._in_head:
            self._unfinished += len(data)

    def on_message_begin(self) -> None:
        """Wait for the rest of this head."""
        self._in_head, self._unfinished = True, 0
        self._wait()
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header. One that follows the body is none: what was checked must stay as it is."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Serve the request."""
        self._in_head = False
        self._wait_no_longer()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 (uvicorn says it in its own words)
        """Refuse what is not HTTP."""
        self._refuse(400, "ambiguous", "this is not one HTTP request after the other")

    def _refuse(self, status: int, code: str, detail: str) -> None:
        answer = problem(status, code, detail)
        answer.headers["connection"] = "close"
        head = b"".join(name + b": " + value + b"\r\n" for name, value in answer.raw_headers)
        self.transport.write(b"HTTP/1.1 %d \r\n%b\r\n%b" % (status, head, answer.body))
        self.transport.close()

    def _wait(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.allowed.header_seconds, self.transport.close)

    def _wait_no_longer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
