"""What a parser process may use, and how it gives the rest up."""

import os
import resource
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headgate.sandbox import libc

MEBIBYTE: Final = 1024 * 1024

_PR_SET_DUMPABLE: Final = 4


@dataclass(frozen=True, slots=True)
class ParserLimits:
    """The limits of one parser process. Memory is counted beyond what the process has when it reads its first document."""

    memory_bytes: int = 768 * MEBIBYTE
    cpu_seconds: int = 10
    wall_seconds: float = 20.0
    """For one job, from the first byte that is sent to the last that is answered; the parent holds it."""
    document_bytes: int = 128 * MEBIBYTE
    answer_bytes: int = 192 * MEBIBYTE


def build_restriction(limits: ParserLimits, prepare: Callable[[], None]) -> Callable[[], None]:
    """Return what a process that was just forked calls to restrict itself. What can be loaded before is loaded here.

    `prepare` is called before the limits hold, and after what its threads inherit.
    """

    def restrict() -> None:
        with suppress(OSError):
            # Where the machine runs out of memory, a parser goes before anything else does.
            Path("/proc/self/oom_score_adj").write_text("1000", encoding="utf-8")
        if sys.platform == "linux":
            libc.prctl(libc.SET_PARENT_DEATH_SIGNAL, libc.KILL)
            libc.prctl(libc.SET_NO_NEW_PRIVILEGES, 1)
            libc.prctl(_PR_SET_DUMPABLE, 0)
        prepare()
        for name, most in _resource_limits(limits).items():
            _lower(name, most)

    return restrict


def limit_memory(most: int) -> None:
    """Limit what this process uses of private memory from now on, in bytes; it writes no core file."""
    _lower("RLIMIT_CORE", 0)
    _lower("RLIMIT_DATA", _memory_in_use()[1] + most)


def _resource_limits(limits: ParserLimits) -> dict[str, int]:
    address_space, data = _memory_in_use()
    return {
        "RLIMIT_CORE": 0,
        "RLIMIT_FSIZE": 0,
        "RLIMIT_NPROC": 0,
        "RLIMIT_NOFILE": 3,
        "RLIMIT_CPU": limits.cpu_seconds,
        "RLIMIT_DATA": data + limits.memory_bytes,
        "RLIMIT_AS": address_space + limits.memory_bytes,
    }


def _memory_in_use() -> tuple[int, int]:
    """Return the bytes of address space and of private memory. Elsewhere than on Linux nothing enforces either."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="utf-8").split()
    except OSError:
        return 0, 0
    size = os.sysconf("SC_PAGE_SIZE")
    return int(pages[0]) * size, int(pages[5]) * size


def _lower(name: str, most: int) -> None:
    """Set a limit for good. macOS lacks some of them and refuses values below what is in use."""
    kind = getattr(resource, name, None)
    if kind is None:
        return
    try:
        resource.setrlimit(kind, (most, most))
    except (ValueError, OSError):
        if sys.platform == "linux":
            raise
