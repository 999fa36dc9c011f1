"""Executes the command of its arguments as on a kernel before Linux 5.13: without the system calls of Landlock."""

import errno
import os
import sys
from typing import Final

from headgate.sandbox import libc
from headgate.sandbox.seccomp_filter import install_filter

COMMAND: Final = (sys.executable, "-m", "tests.sandbox.without_landlock")
"""The prefix of the command line of a program on such a kernel; it must run in the project's folder."""
NOT_ENFORCED: Final = (
    "sandbox of Spark's processes: files, TCP ports, system calls and memory are not restricted "
    "(the Linux kernel has no Landlock, or Landlock is disabled; add `landlock` to the boot parameter `lsm`)"
)
"""The line that a server prints on such a kernel."""
_FIRST, _LAST = 444, 446
"""The system calls of Landlock."""

PROGRAM: Final = (
    (0x20, 0, 0, 0),
    (0x35, 0, 2, _FIRST),
    (0x25, 1, 0, _LAST),
    (0x06, 0, 0, 0x00050000 | errno.ENOSYS),
    (0x06, 0, 0, 0x7FFF0000),
)
"""Load the call number; fail the calls of Landlock, from the first to the last, as unknown; allow all others."""

if __name__ == "__main__":
    libc.prctl(libc.SET_NO_NEW_PRIVILEGES, 1)
    install_filter(PROGRAM)
    os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606 (no shell is wanted)
