"""The pool of parser processes: one process for each job, which never sees the documents of another job."""

import asyncio
import os
import socket
from collections.abc import Callable, Sequence
from typing import Final

from headgate.untrusted_input.errors import OversizedInputError, ParsersBusyError, UnreadableInputError
from headgate.untrusted_input.fair_queue import FairQueue
from headgate.untrusted_input.frames import ANSWER_HEAD, DOCUMENT, ParserOutcome
from headgate.untrusted_input.launcher_process import LauncherError, LauncherProcess
from headgate.untrusted_input.limits import ParserLimits
from headgate.untrusted_input.purposes import UPLOADS, Purpose

Charge = Callable[[int], None]
"""Receives the size of each rewritten document before it is read; if it raises, the job ends with that error."""

_OUTCOMES: Final = frozenset(map(int, ParserOutcome))
_MESSAGE_BYTES: Final = 400
_AT_ONCE: Final = min(16, max(4, 2 * (os.cpu_count() or 2)))
"""The limit of concurrent parsers; an owner has at most a quarter of them."""


class ParserPool:
    """Rewrites untrusted documents in processes that may fail without harm. Bound to one event loop.

    A document may take control of its parser process. So each job has its own process, and a process's output is limited
    in size and treated as input from the same client.
    """

    def __init__(self, limits: ParserLimits | None = None, at_once: int = _AT_ONCE, purpose: Purpose = UPLOADS) -> None:
        self._limits = limits or ParserLimits()
        self._purpose = purpose
        self._launcher = LauncherProcess(self._limits, purpose.family)
        self._turns = FairQueue(at_once, max(1, at_once // 4), purpose.waiting_per_owner, purpose.waiting, self._busy)

    @property
    def launcher_pid(self) -> int | None:
        """The process id of the launcher, if it has started."""
        return self._launcher.pid

    async def start(self) -> None:
        """Start the launcher, so that the first job need not wait for it. Raises `ParsersBusyError` if it does not start."""
        try:
            await self._launcher.start()
        except LauncherError:
            raise ParsersBusyError(self._purpose.down) from None

    def close(self) -> None:
        """End all processes."""
        self._launcher.stop()

    async def rewrite(
        self, owner: str, kind: bytes, documents: Sequence[bytes], charge: Charge, file: int | None = None
    ) -> list[bytes]:
        """Return the rewritten documents, in the same order. Owners share the parsers fairly.

        The parser may read the open file `file`; the calling code closes it.

        A compressed document may grow to a thousand times its size, so `charge` limits the total size of the rewritten
        documents.

        Raises:
            UnreadableInputError: a document is malformed, or ended its parser.
            OversizedInputError: a document needs too much memory or time.
            ParsersBusyError: too many documents wait.
        """
        if any(len(document) > self._limits.document_bytes for document in documents):
            raise OversizedInputError(self._purpose.larger_than(self._limits.document_bytes))
        async with self._turns.turn(owner):
            await self.start()
            try:
                number, job = self._launcher.begin(file)
            except LauncherError:
                raise ParsersBusyError(self._purpose.down) from None
            try:
                with job:
                    return await self._exchange(job, kind, documents, charge)
            finally:
                self._launcher.end(number)

    def _busy(self) -> Exception:
        return ParsersBusyError(self._purpose.busy)

    async def _exchange(
        self, job: socket.socket, kind: bytes, documents: Sequence[bytes], charge: Charge
    ) -> list[bytes]:
        try:
            async with asyncio.timeout(self._limits.wall_seconds):
                return [await self._rewrite(job, kind, document, charge) for document in documents]
        except TimeoutError:
            raise OversizedInputError(self._purpose.slow) from None
        except OSError:
            raise UnreadableInputError(self._purpose.lost) from None

    async def _rewrite(self, job: socket.socket, kind: bytes, document: bytes, charge: Charge) -> bytes:
        outcome, answer = await self._answer(job, kind, document, charge)
        if outcome is ParserOutcome.REWRITTEN:
            return answer
        failure = OversizedInputError if outcome is ParserOutcome.OVERSIZED else UnreadableInputError
        raise failure(_printable(answer) or self._purpose.lost)

    async def _answer(
        self, job: socket.socket, kind: bytes, document: bytes, charge: Charge
    ) -> tuple[ParserOutcome, bytes]:
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(job, DOCUMENT.pack(kind, len(document)))
        await loop.sock_sendall(job, document)
        code, length = ANSWER_HEAD.unpack(await _receive(job, ANSWER_HEAD.size))
        if code not in _OUTCOMES or length > (
            self._limits.answer_bytes if code == ParserOutcome.REWRITTEN else _MESSAGE_BYTES
        ):
            raise ConnectionAbortedError
        if code == ParserOutcome.REWRITTEN:
            charge(length)
        return ParserOutcome(code), await _receive(job, length)


async def _receive(job: socket.socket, length: int) -> bytes:
    """Return exactly `length` bytes. Raises `OSError` if the parser ends before."""
    data = bytearray(length)
    view, filled, loop = memoryview(data), 0, asyncio.get_running_loop()
    while filled < length:
        received = await loop.sock_recv_into(job, view[filled:])
        if not received:
            raise ConnectionResetError
        filled += received
    return bytes(data)


def _printable(message: bytes) -> str:
    """Return a message as one line of printable characters; its parser process is not trusted."""
    text = message.decode(errors="replace")
    return "".join(letter if letter.isprintable() else "?" for letter in text)
