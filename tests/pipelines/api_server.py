"""A real HTTP server on loopback, in a thread; a test sets its answers."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from typing_extensions import override


@dataclass
class Asked:
    """A request that the server received."""

    path: str
    parameters: dict[str, str]
    headers: Mapping[str, str]


@dataclass
class Given:
    """An answer. `length` replaces the true content length; with `stalls` the answer never ends."""

    document: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: bytes | None = None
    length: int | None = None
    stalls: bool = False

    @property
    def text(self) -> bytes:
        """The bytes of the body."""
        return json.dumps(self.document).encode() if self.body is None else self.body


Answering = Callable[[Asked], Given]


@dataclass
class ApiServer:
    """The address of the server, the requests that it received, and the function that answers them."""

    url: str
    answering: Answering
    asked: list[Asked] = field(default_factory=list[Asked])
    over: threading.Event = field(default_factory=threading.Event)

    def scripted(self, *answers: Given) -> None:
        """Answer with each of these in turn, and with the last one from then on."""
        left = list(answers)
        self.answering = lambda _: left.pop(0) if len(left) > 1 else left[0]


@contextmanager
def api_server() -> Iterator[ApiServer]:
    """Run the server for the length of the block."""
    made: list[ApiServer] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            asked = Asked(parts.path, dict(parse_qsl(parts.query)), dict(self.headers.items()))
            made[0].asked.append(asked)
            given = made[0].answering(asked)
            self.send_response_only(given.status)
            for name, value in given.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(given.text) if given.length is None else given.length))
            self.end_headers()
            self.wfile.write(given.text)
            self.wfile.flush()
            if given.stalls:
                made[0].over.wait(30)
            if given.length is not None:
                self.close_connection = True

        @override
        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        made.append(ApiServer(f"http://127.0.0.1:{server.server_port}", lambda _: Given([])))
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield made[0]
        finally:
            made[0].over.set()
            server.shutdown()
            thread.join()
