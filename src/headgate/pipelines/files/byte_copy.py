"""Copy of one open file into another: exactly the bytes it had when the copy began, while the disk has space."""

import errno
import os
from collections.abc import Callable
from typing import Final

from headgate.pipelines.files.disk_space import PIECE, require_room
from headgate.pipelines.load_errors import EndedError, LoadError

_NOT_IN_KERNEL: Final = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EBADF)


def copy_bytes(source: int, goal: int, has_to_end: Callable[[], bool], *, most: int) -> int:
    """Copy one open file into another, and return the number of bytes. `most` is the size of the source.

    Raises:
        LoadError: the source changed its size during the copy, or the disk has no space for it.
        EndedError: `has_to_end` returned true.
    """
    require_room(goal, most)
    total, count = 0, 1
    while count and total <= most:
        if has_to_end():
            raise EndedError
        # One byte more than the source had, to detect a file that grows.
        piece = min(PIECE, most + 1 - total)
        require_room(goal, piece)
        # On some file systems the kernel copies nothing, and does not always report it.
        count = _copy_in_kernel(source, goal, piece) or _copy_by_hand(source, goal, piece)
        total += count
    if total != most:
        raise LoadError("the file changed while it was copied; run the pipeline again when the file is complete")
    return total


def _copy_in_kernel(source: int, goal: int, most: int) -> int:
    if not hasattr(os, "copy_file_range"):
        return 0
    try:
        return os.copy_file_range(source, goal, most)
    except OSError as error:
        if error.errno not in _NOT_IN_KERNEL:
            raise
        return 0


def _copy_by_hand(source: int, goal: int, most: int) -> int:
    piece = os.read(source, most)
    left = memoryview(piece)
    while left:
        left = left[os.write(goal, left) :]
    return len(piece)
