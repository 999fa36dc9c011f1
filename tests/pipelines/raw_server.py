"""A server of raw bytes on loopback, in threads: it sends the malformed HTTP answers of a hostile host."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import ip_address

from headgate.pipelines.connections.targets import HttpPlace

CREDENTIAL = "Bearer s3cret"


@dataclass
class RawServer:
    """The port of the server, and the heads of the requests that it received."""

    port: int
    heads: list[str] = field(default_factory=list[str])
    over: threading.Event = field(default_factory=threading.Event)

    def place(self, path: str = "", **headers: str) -> HttpPlace:
        """Return a connection to the server."""
        base = f"http://127.0.0.1:{self.port}{path}"
        return HttpPlace(base, {"authorization": CREDENTIAL, **headers}, lambda *_: (ip_address("127.0.0.1"),))

    def targets(self) -> list[str]:
        """Return the method and target of every request."""
        return [head.split("\r\n")[0].removesuffix(" HTTP/1.1") for head in self.heads]


Answering = Callable[[socket.socket, RawServer], None]


@contextmanager
def raw_server(answering: Answering) -> Iterator[RawServer]:
    """Answer each request of each connection with `answering`, for the length of the block."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        served = RawServer(listener.getsockname()[1])
        threading.Thread(target=_accept, args=(listener, answering, served), daemon=True).start()
        try:
            yield served
        finally:
            served.over.set()


def body_of(sent: bytes, *headers: str, status: str = "200 OK") -> Answering:
    """Return a function that answers with this body and these headers."""

    def answer(peer: socket.socket, _: RawServer) -> None:
        lines = (f"HTTP/1.1 {status}", f"content-length: {len(sent)}", *headers, "", "")
        peer.sendall("\r\n".join(lines).encode() + sent)

    return answer


def endless(begin: bytes, piece: bytes) -> Answering:
    """Return a function that answers with a beginning, and then repeats the same bytes without end."""

    def answer(peer: socket.socket, served: RawServer) -> None:
        peer.sendall(begin)
        while not served.over.wait(0.02):
            peer.sendall(piece)

    return answer


def _accept(listener: socket.socket, answering: Answering, served: RawServer) -> None:
    with suppress(OSError):
        while True:
            peer, _ = listener.accept()
            threading.Thread(target=_serve, args=(peer, answering, served), daemon=True).start()


def _serve(peer: socket.socket, answering: Answering, served: RawServer) -> None:
    with suppress(OSError), peer:
        while head := _head(peer):
            served.heads.append(head.decode("latin-1"))
            answering(peer, served)


def _head(peer: socket.socket) -> bytes:
    head = b""
    while b"\r\n\r\n" not in head:
        piece = peer.recv(65536)
        if not piece:
            return b""
        head += piece
    return head
