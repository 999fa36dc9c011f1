"""Free disk space: it is checked before each piece of a file is written, so that a reserve stays free."""

import os
from typing import Final

from headgate.pipelines.load_errors import LoadError

PIECE: Final = 16 << 20
"""The maximum number of bytes written between two checks."""
_LEFT_FREE: Final = 256 << 20
"""The number of bytes of a disk that stay free."""


def require_room(file: int, count: int) -> None:
    """Raise `LoadError` unless the disk of an open file has space for `count` more bytes and the reserve."""
    disk = os.fstatvfs(file)
    if count + _LEFT_FREE > disk.f_bavail * disk.f_frsize:
        raise LoadError(
            f"the server's disk has no space for {count:,} more bytes; load or write less data at once, or ask the operator to "
            "free disk space"
        )
