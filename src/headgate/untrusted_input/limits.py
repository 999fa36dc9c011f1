"""Resource limits of a parser process, and the code that applies them."""

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
    """The limits of one parser process. Memory counts in addition to what the process uses before its first document."""

    memory_bytes: int = 768 * MEBIBYTE
    cpu_seconds: int = 10
    wall_seconds: float = 20.0
    """The time for one job, from the first byte sent to the last byte received; the parent enforces it."""
    document_bytes: int = 128 * MEBIBYTE
    answer_bytes: int = 192 * MEBIBYTE


def build_restriction(limits: ParserLimits, prepare: Callable[[], None]) -> Callable[[], None]:
    """Return the function with which a forked process restricts itself; the needed libraries are loaded before.

    `prepare` is called before the limits apply, but after the restrictions that its threads must inherit.
    """

    def restrict() -> None:
        with suppress(OSError):
            # If the machine runs out of memory, the kernel kills a parser before other processes.
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
    """Limit the further private memory of this process to `most` bytes, and disable core files."""
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
    """Return the bytes of address space and of private memory in use; zeros outside Linux, where neither limit is enforced."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="utf-8").split()
    except OSError:
        return 0, 0
    size = os.sysconf("SC_PAGE_SIZE")
    return int(pages[0]) * size, int(pages[5]) * size


def _lower(name: str, most: int) -> None:
    """Set a limit permanently. macOS lacks some limits, and refuses values below the current use."""
    kind = getattr(resource, name, None)
    if kind is None:
        return
    try:
        resource.setrlimit(kind, (most, most))
    except (ValueError, OSError):
        if sys.platform == "linux":
            raise
