"""A server of PostgreSQL's protocol that receives the client's password and certificate."""

import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

TLS: Final = 80877103
GSS: Final = 80877104
"""The request codes with which a client asks for encryption."""
CLEARTEXT, GSSAPI, SSPI = 3, 7, 9
"""The codes with which a server demands authentication from a client."""
_PATIENCE = 10


@dataclass
class Received:
    """The data that clients sent.

    `startup` has the session parameters, and `answers` the replies to the server's demand.
    """

    port: int
    requests: list[int] = field(default_factory=list[int])
    startup: dict[str, str] = field(default_factory=dict[str, str])
    answers: list[bytes] = field(default_factory=list[bytes])
    has_certificate: bool = False


@contextmanager
def postgres_that_asks(demand: int, tls: ssl.SSLContext | None = None) -> Iterator[Received]:
    """Serve on a free port of the loopback interface, and demand this kind of authentication from every client."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        received = Received(listening.getsockname()[1])
        thread = threading.Thread(target=_serve, args=(listening, received, demand, tls), daemon=True)
        thread.start()
        yield received
        listening.shutdown(socket.SHUT_RDWR)
        thread.join(_PATIENCE)


def _serve(listening: socket.socket, received: Received, demand: int, tls: ssl.SSLContext | None) -> None:
    while True:
        try:
            client, _ = listening.accept()
        except OSError:
            return
        client.settimeout(_PATIENCE)
        try:
            with client:
                _answer(client, received, demand, tls)
        except (OSError, EOFError):
            continue


def _answer(client: socket.socket, received: Received, demand: int, tls: ssl.SSLContext | None) -> None:
    code, body = _startup(client)
    if code in (TLS, GSS):
        received.requests.append(code)
        if code == GSS or tls is None:
            client.sendall(b"N")
            _answer(client, received, demand, tls)
            return
        client.sendall(b"S")
        with tls.wrap_socket(client, server_side=True) as encrypted:
            received.has_certificate |= encrypted.getpeercert(binary_form=True) is not None
            _answer(encrypted, received, demand, None)
        return
    words = body.decode().rstrip("\0").split("\0")
    received.startup.update(zip(words[::2], words[1::2], strict=True))
    client.sendall(b"R" + struct.pack(">II", 8, demand))
    kind = _read(client, 1)
    received.answers.append(kind + _read(client, _number(client) - 4))


def _startup(client: socket.socket) -> tuple[int, bytes]:
    body = _read(client, _number(client) - 4)
    return struct.unpack(">I", body[:4])[0], body[4:]


def _number(client: socket.socket) -> int:
    return struct.unpack(">I", _read(client, 4))[0]


def _read(client: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        part = client.recv(count - len(found))
        if not part:
            raise EOFError
        found += part
    return found
