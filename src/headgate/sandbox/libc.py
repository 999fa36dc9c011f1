"""The kernel's calls that Python has no function for."""

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
"""More than there are."""


def system_call(number: int, *arguments: object) -> int:
    """Make a system call. Raises `OSError` if it fails."""
    return _checked(_libc.syscall(ctypes.c_long(number), *arguments))


def execute_from_descriptor(
    number: int, command: Sequence[str], environment: Sequence[str], more: Sequence[int]
) -> None:
    """Make the system call that replaces this process by a program, with further numbers as arguments. Raises `OSError`."""
    texts = [os.fsencode(each) for each in command], [os.fsencode(each) for each in environment]
    lists = [(ctypes.c_char_p * (len(each) + 1))(*each, None) for each in texts]
    system_call(number, ctypes.c_char_p(texts[0][0]), *lists, *(ctypes.c_ulong(each) for each in more))


def prctl(option: int, *arguments: object) -> int:
    """Change something of this process. Raises `OSError` if it cannot be changed."""
    four = (*arguments, 0, 0, 0, 0)[:4]
    # Python would hand an integer over as a shorter one.
    wide = (ctypes.c_ulong(each) if isinstance(each, int) else each for each in four)
    return _checked(_libc.prctl(ctypes.c_int(option), *wide))


def drop_privileges() -> None:
    """Give up every capability for good, also those that a program of another owner would bring. Raises `OSError`."""
    prctl(SET_NO_NEW_PRIVILEGES, 1)
    for each in range(_CAPABILITIES):
        try:
            prctl(_DROP_FROM_BOUNDING_SET, each)
        except OSError:
            # There is no such capability, or this process has none to give up.
            continue
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    system_call(_CAPSET[os.uname().machine], ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)()))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
