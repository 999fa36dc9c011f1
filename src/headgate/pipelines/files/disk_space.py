"""Free space on the disk of a file that is written: looked at before each piece, so that a reserve stays."""

import os
from typing import Final

from headgate.pipelines.load_errors import LoadError

PIECE: Final = 16 << 20
"""Bytes at most that are written between two looks."""
_LEFT_FREE: Final = 256 << 20
"""Bytes of a disk that are left free."""


def require_room(file: int, count: int) -> None:
    """Raise `LoadError` unless the disk of an open file has room for `count` more bytes, and the reserve beside them."""
    disk = os.fstatvfs(file)
    if count + _LEFT_FREE > disk.f_bavail * disk.f_frsize:
        raise LoadError(
            f"the disk has no room for {count:,} more bytes; read or write less at once, or have the operator make room"
        )
