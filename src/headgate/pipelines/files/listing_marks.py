"""Listing marks: the files of the last folder listing that a stream has loaded completely, stored beside its progress.

A file is compared with the stored listing; times of two file systems are never compared. So a file that a listing missed, or
that arrived while a clock was set back, is new at the next listing. If a file is new twice here, Spark's own record of file
names prevents a second load.
"""

import os
import stat
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final

from headgate.pipelines.files.disk_space import require_room
from headgate.pipelines.files.folder_copy import MAX_FILES, FoundFile
from headgate.pipelines.load_errors import LoadError

_DIGEST: Final = 16
"""The bytes of a file's digest, over its name and the time of its arrival or last change."""
_LARGEST: Final = MAX_FILES * _DIGEST
_SECOND: Final = 1_000_000_000


class ListingMarks:
    """The files of the last listing whose files were all loaded."""

    def __init__(self, folder: Path, cleaned: int) -> None:
        self._writing, self._done = folder / f"{cleaned}.listing", folder / f"{cleaned}.listed"

    def select_new(self, listed: Sequence[FoundFile], since: float) -> list[FoundFile]:
        """Return the files that are new or changed since the last listing, oldest first.

        Before the first listing, return those that arrived at the time `since` or later. Raises `LoadError` if the stored
        listing is invalid.
        """
        try:
            # Before version 0.1 the file was empty, and its own time is the time at which the listing began.
            kept, since = _read(self._done)
        except FileNotFoundError:
            kept = b""
        seen = {kept[at : at + _DIGEST] for at in range(0, len(kept), _DIGEST)}
        new = (each for each in listed if (_digest(each) not in seen if seen else each.came >= since * _SECOND))
        return sorted(new, key=lambda each: each.came)

    def keep(self, listed: Sequence[FoundFile]) -> None:
        """Record that all files of a listing were loaded. Raises `LoadError` if the disk has no space for the record."""
        digests = b"".join(map(_digest, listed))
        self._writing.unlink(missing_ok=True)  # the driver may have created anything under this name
        with self._writing.open("xb") as file:
            require_room(file.fileno(), len(digests))
            file.write(digests)
            file.flush()
            os.fsync(file.fileno())
        self._writing.replace(self._done)


def _read(path: Path) -> tuple[bytes, float]:
    """Return the digests in a file, which the driver can write too, and the file's time."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
            raise LoadError(
                f"the file `{path.name}` in the checkpoint folder of the stream capture, which lists the loaded files, "
                "is damaged; ask the operator to remove that file; the next run writes it again, and loads no "
                "file twice"
            )
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(_LARGEST), found.st_mtime
    finally:
        os.close(descriptor)


def _digest(file: FoundFile) -> bytes:
    return blake2b(f"{file.came} {file.name}".encode(errors="surrogateescape"), digest_size=_DIGEST).digest()
