"""A server of another engine on this machine, and a connection to it that stays open."""

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Sequence
from typing import Any

_START_SECONDS = 30


class Server:
    """A running server that answers JSON over HTTP on a port of the loopback interface.

    The client uses no library, because `http.client` takes longer than the servers.
    """

    def __init__(self, command: Sequence[str], port: int, health: str) -> None:
        """Start the server and wait until `health` answers.

        Raises:
            RuntimeError: it ended, or did not answer in time.
        """
        self.port = port
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        ends = time.monotonic() + _START_SECONDS
        while not self._answers(port, health):
            if self._process.poll() is not None or time.monotonic() > ends:
                self._end()
                raise RuntimeError(f"`{' '.join(command)}` did not start")
            time.sleep(0.05)

    def _answers(self, port: int, health: str) -> bool:
        try:
            self._socket = socket.create_connection(("127.0.0.1", port))
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._stream = self._socket.makefile("rb")
            self.send(request("GET", health))
        except (OSError, RuntimeError):
            return False
        return True

    @property
    def process(self) -> int:
        """The process of the server."""
        return self._process.pid

    def send(self, request: bytes) -> Any:
        """Send a request and return the JSON of the response, or None.

        Raises:
            RuntimeError: the answer is an error.
        """
        self._socket.sendall(request)
        status = self._stream.readline()
        headers = self._headers()
        text = (
            self._chunks()
            if b"transfer-encoding" in headers
            else self._stream.read(int(headers.get(b"content-length", 0)))
        )
        if not status.split(b" ")[1].startswith(b"2"):
            raise RuntimeError(f"{request[:200]!r}: {status!r} {text[:500]!r}")
        return json.loads(text) if text else None

    def _headers(self) -> dict[bytes, bytes]:
        headers: dict[bytes, bytes] = {}
        while line := self._stream.readline().strip():
            name, _, value = line.partition(b":")
            headers[name.lower()] = value
        return headers

    def _chunks(self) -> bytes:
        chunks: list[bytes] = []
        while size := int(self._stream.readline(), 16):
            chunks.append(self._stream.read(size))
            self._stream.readline()
        self._stream.readline()
        return b"".join(chunks)

    def close(self) -> None:
        """Stop the server."""
        self._stream.close()
        self._socket.close()
        self._end()

    def _end(self) -> None:
        self._process.terminate()
        self._process.wait()


def request(method: str, path: str, body: Any = None) -> bytes:
    """Return the bytes of a request, with a text or JSON as its body."""
    content = body.encode() if isinstance(body, str) else json.dumps(body).encode() if body is not None else b""
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(content)}"
    return head.encode() + b"\r\n\r\n" + content


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def not_on_path(command: str, package: str) -> str | None:
    """Return how to install a command that is not on PATH, or None."""
    return None if shutil.which(command) else f"`{command}` is not on PATH (go install {package}@latest)"
