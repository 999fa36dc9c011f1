"""System calls for which Python has no function."""

import ctypes
import os
from collections.abc import Sequence
from typing import Final

_libc = ctypes.CDLL(None, use_errno=True)

SET_NO_NEW_PRIVILEGES: Final = 38
SET_PARENT_DEATH_SIGNAL: Final = 1
KILL: Final = 9
_DROP_FROM_BOUNDING_SET: Final = 24
_CAPSET: Final = {"x86_64": 126, "aarch64": 91}
_CAPABILITY_VERSION: Final = 0x20080522
_CAPABILITIES: Final = 64
"""An upper bound of the number of capabilities."""


def system_call(number: int, *arguments: object) -> int:
    """Make a system call. Raises `OSError` if it fails."""
    return _checked(_libc.syscall(ctypes.c_long(number), *arguments))


def execute_from_descriptor(
    number: int, command: Sequence[str], environment: Sequence[str], more: Sequence[int]
) -> None:
    """Replace this process by a program, with the numbers `more` as further arguments of the system call. Raises `OSError`."""
    texts = [os.fsencode(each) for each in command], [os.fsencode(each) for each in environment]
    lists = [(ctypes.c_char_p * (len(each) + 1))(*each, None) for each in texts]
    system_call(number, ctypes.c_char_p(texts[0][0]), *lists, *(ctypes.c_ulong(each) for each in more))


def prctl(option: int, *arguments: object) -> int:
    """Change a property of this process. Raises `OSError` on failure."""
    four = (*arguments, 0, 0, 0, 0)[:4]
    # ctypes would pass an integer as a shorter type.
    wide = (ctypes.c_ulong(each) if isinstance(each, int) else each for each in four)
    return _checked(_libc.prctl(ctypes.c_int(option), *wide))


def drop_privileges() -> None:
    """Drop every capability permanently, including those that a set-uid program would gain. Raises `OSError`."""
    prctl(SET_NO_NEW_PRIVILEGES, 1)
    for each in range(_CAPABILITIES):
        try:
            prctl(_DROP_FROM_BOUNDING_SET, each)
        except OSError:
            # The capability does not exist, or this process may not drop it.
            continue
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    system_call(_CAPSET[os.uname().machine], ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)()))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
