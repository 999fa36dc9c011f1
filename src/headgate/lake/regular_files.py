"""Reads files that another program may have replaced by a pipe or a device."""

import errno
import os
import stat
from pathlib import Path


def read_regular_file(file: Path, most: int = -1) -> bytes:
    """Return the content of a file, or its first `most` bytes. Raises `OSError`, also if it is not a regular file."""
    # Non-blocking: opening a pipe would wait for a writer.
    with open(file, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(file))
        return stream.read(most)
