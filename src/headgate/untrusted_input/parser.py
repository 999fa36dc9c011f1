"""A parser process: rewrites the documents of one job, one after the other, until its parent closes the socket."""

import socket
from collections.abc import Mapping
from typing import Any

from headgate.untrusted_input.errors import OversizedInputError, UnreadableInputError
from headgate.untrusted_input.frames import ANSWER_HEAD, DOCUMENT, ParserOutcome
from headgate.untrusted_input.limits import ParserLimits
from headgate.untrusted_input.rewriters import Rewriter


def serve(job: socket.socket, limits: ParserLimits, rewriters: Mapping[bytes, Rewriter]) -> None:
    """Serve the job until the parent closes the socket."""
    while head := _receive(job, DOCUMENT.size):
        kind, length = DOCUMENT.unpack(head)
        if length > limits.document_bytes:
            return
        outcome, answer = _rewrite(rewriters[kind.rstrip(b"\0")], _receive(job, length))
        job.sendall(ANSWER_HEAD.pack(outcome, memoryview(answer).nbytes))
        job.sendall(answer)


def _rewrite(rewrite: Rewriter, document: bytearray) -> tuple[ParserOutcome, Any]:
    try:
        return ParserOutcome.REWRITTEN, rewrite(document)
    except UnreadableInputError as error:
        return ParserOutcome.UNREADABLE, str(error).encode(errors="replace")
    except OversizedInputError as error:
        return ParserOutcome.OVERSIZED, str(error).encode(errors="replace")


def _receive(job: socket.socket, length: int) -> bytearray:
    """Return exactly `length` bytes, or none if the parent has closed the socket."""
    data = bytearray(length)
    view, filled = memoryview(data), 0
    while filled < length:
        received = job.recv_into(view[filled:])
        if not received:
            return bytearray()
        filled += received
    return data
