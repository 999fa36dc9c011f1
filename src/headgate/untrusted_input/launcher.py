"""`python -P -m headgate.untrusted_input.launcher FAMILY LIMITS`: forks a restricted parser process for each job.

The launcher itself reads no document. It has already imported the modules that parsers need, so that each job starts
within milliseconds, in a process that has seen no other job.
"""

import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NoReturn

from headgate.untrusted_input.frames import COMMAND, FILE_FRAME, READY, ParserCommand
from headgate.untrusted_input.limits import ParserLimits, build_restriction
from headgate.untrusted_input.parser import serve
from headgate.untrusted_input.rewriters import Family, load_preparation, load_rewriters

_FILES: Final = 256
"""An upper bound of the launcher's open descriptors."""


def main() -> None:
    """Serve the parent on the socket at descriptor 0 until the parent closes it."""
    family, limits = Family(sys.argv[1]), limits_from(sys.argv[2:])
    control = socket.socket(fileno=0)
    # NumPy would start threads, and a process with threads is not safe to fork; PyArrow works without it.
    sys.modules["numpy"] = None  # pyright: ignore[reportArgumentType]
    rewriters = load_rewriters(family)
    restrict = build_restriction(limits, load_preparation(family))

    def work(job: socket.socket) -> None:
        restrict()
        serve(job, limits, rewriters)

    os.environ.clear()
    control.sendall(READY)
    _Launcher(control, work).run()


def limits_from(arguments: list[str]) -> ParserLimits:
    """Return the limits from the command line, in the order of their fields."""
    memory_bytes, cpu_seconds, wall_seconds, document_bytes, answer_bytes = arguments
    return ParserLimits(
        int(memory_bytes), int(cpu_seconds), float(wall_seconds), int(document_bytes), int(answer_bytes)
    )


class _Launcher:
    """The running parser processes, by the number of their job."""

    def __init__(self, control: socket.socket, work: Callable[[socket.socket], None]) -> None:
        self._control = control
        self._work = work
        self._processes: dict[int, int] = {}

    def run(self) -> None:
        while (received := self._receive()) is not None:
            command, number, descriptors = received
            if command is ParserCommand.BEGIN and descriptors:
                self._begin(number, socket.socket(fileno=descriptors[0]), descriptors[1:])
            elif command is ParserCommand.END:
                self._end(number)
        for number in tuple(self._processes):
            self._end(number)

    def _receive(self) -> tuple[ParserCommand, int, list[int]] | None:
        data, descriptors, _, _ = socket.recv_fds(self._control, COMMAND.size, 2)
        while data and len(data) < COMMAND.size:
            more = self._control.recv(COMMAND.size - len(data))
            data = data + more if more else b""
        if not data:
            return None
        command, number = COMMAND.unpack(data)
        return ParserCommand(command), number, descriptors

    def _begin(self, number: int, job: socket.socket, files: list[int]) -> None:
        with job, suppress(OSError):  # if the fork fails, the parent sees that the job's socket is closed
            process = os.fork()
            if process == 0:
                _become_parser(job, files, self._work)
            self._processes[number] = process
        for each in files:
            os.close(each)

    def _end(self, number: int) -> None:
        process = self._processes.pop(number, None)
        if process is not None:
            # The process id cannot be reused before `waitpid`.
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)


def _become_parser(job: socket.socket, files: list[int], work: Callable[[socket.socket], None]) -> NoReturn:
    """Run the parser of one job in the forked process, then exit in every case."""
    try:
        os.dup2(job.fileno(), 0)
        for each in files:
            os.dup2(each, FILE_FRAME)
        os.closerange(3, _FILES)
        work(socket.socket(fileno=0))
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
