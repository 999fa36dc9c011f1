"""Path containment: opens files below an open folder, without following symbolic links or leaving the folder (path traversal).

On Linux the kernel does that in one step (`openat2`); elsewhere each part of the path is opened separately.
"""

import ctypes
import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final

_OPENAT2: Final = 437
"""The number of the system call, which is the same on every processor."""
_NO_MAGIC_LINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_RESOLVE: Final = _NO_MAGIC_LINKS | _NO_SYMLINKS | _BENEATH
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY
# Without O_NONBLOCK, opening a named pipe would wait for its writer.
READ: Final = os.O_RDONLY | os.O_NONBLOCK


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


@contextmanager
def open_folder(root: Path, below: PurePosixPath) -> Iterator[int]:
    """Open a folder below another one while the block runs. Raises `OSError`, with `ELOOP` for a link.

    Links in `root` itself are followed, because the operator chose it.
    """
    top = os.open(root, _DIRECTORY | os.O_CLOEXEC)
    try:
        found = open_beneath(top, below, _DIRECTORY)
    finally:
        os.close(top)
    try:
        yield found
    finally:
        os.close(found)


def open_beneath(folder: int, path: PurePosixPath, flags: int, mode: int = 0) -> int:
    """Return a new descriptor of a file below an open folder. Raises `OSError`: `ELOOP` or `EXDEV` if the path leads out."""
    if path.is_absolute() or ".." in path.parts:
        raise OSError(
            errno.EXDEV, "the path leads out of its folder; use a path without `..` below the folder", str(path)
        )
    if _HAS_OPENAT2:
        return _open_at_once(folder, path, flags, mode)
    return _open_by_parts(folder, path, flags, mode)


def _open_at_once(folder: int, path: PurePosixPath, flags: int, mode: int) -> int:
    how = _OpenHow(flags | os.O_CLOEXEC, mode if flags & os.O_CREAT else 0, _RESOLVE)
    found: int = _LIBC.syscall(
        _OPENAT2, folder, ctypes.c_char_p(os.fsencode(path)), ctypes.byref(how), ctypes.sizeof(how)
    )
    if found < 0:
        reason = ctypes.get_errno()
        raise OSError(reason, os.strerror(reason), str(path))
    return found


def _open_by_parts(folder: int, path: PurePosixPath, flags: int, mode: int) -> int:
    *above, last = path.parts or (".",)
    here = os.dup(folder)
    try:
        for part in above:
            deeper = os.open(part, _DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
            os.close(here)
            here = deeper
        return os.open(last, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=here)
    finally:
        os.close(here)


def _has_openat2() -> bool:
    """Whether the kernel has the system call, and allows this process to use it."""
    if sys.platform != "linux":
        return False
    try:
        os.close(_open_at_once(_AT_HERE, PurePosixPath("."), _DIRECTORY, 0))
    except OSError:
        return False
    return True


_AT_HERE: Final = -100
_LIBC = ctypes.CDLL(None, use_errno=True)
_HAS_OPENAT2: Final = _has_openat2()
