"""Becomes the command of its arguments on a kernel without Landlock: its calls do not exist, as before Linux 5.13."""

import errno
import os
import sys
from typing import Final

from headgate.sandbox import libc
from headgate.sandbox.seccomp_filter import install_filter

COMMAND: Final = (sys.executable, "-m", "tests.sandbox.without_landlock")
"""What begins the command line of a program on such a kernel; it is run from the project's folder."""
NOT_ENFORCED: Final = (
    "sandbox of Spark's processes: files, TCP ports, system calls and memory are not restricted "
    "(the kernel has no Landlock)"
)
"""The line that a server prints there."""
_FIRST, _LAST = 444, 446
"""The calls of Landlock."""

PROGRAM: Final = (
    (0x20, 0, 0, 0),
    (0x35, 0, 2, _FIRST),
    (0x25, 1, 0, _LAST),
    (0x06, 0, 0, 0x00050000 | errno.ENOSYS),
    (0x06, 0, 0, 0x7FFF0000),
)
"""Load the number; from the first to the last there is no such call; allow all others."""

if __name__ == "__main__":
    libc.prctl(libc.SET_NO_NEW_PRIVILEGES, 1)
    install_filter(PROGRAM)
    os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606 (no shell is wanted)
