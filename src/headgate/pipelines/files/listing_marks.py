"""Which files of its folder a stream had taken in when it last took in all of a listing, kept beside the stream's progress.

Files are compared with those of the listing, and no times of two file systems with each other: what a listing missed while
files came, and what came while a clock stood back, is new at the next one. Spark's own record of names keeps a file that is
new here twice from being taken in twice.
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
"""Bytes by which a file is known: its name, and when it came or was changed last."""
_LARGEST: Final = MAX_FILES * _DIGEST
_SECOND: Final = 1_000_000_000


class ListingMarks:
    """The files of the last listing that were all taken in."""

    def __init__(self, folder: Path, cleaned: int) -> None:
        self._writing, self._done = folder / f"{cleaned}.listing", folder / f"{cleaned}.listed"

    def select_new(self, listed: Sequence[FoundFile], since: float) -> list[FoundFile]:
        """Return the files that were not there or not the same then, oldest first.

        Before the first listing, those that came at the time `since` or later. Raises `LoadError` where what was kept is no listing.
        """
        try:
            # Of a version before 0.1 it is empty, and its own time is when the listing began.
            kept, since = _read(self._done)
        except FileNotFoundError:
            kept = b""
        seen = {kept[at : at + _DIGEST] for at in range(0, len(kept), _DIGEST)}
        new = (each for each in listed if (_digest(each) not in seen if seen else each.came >= since * _SECOND))
        return sorted(new, key=lambda each: each.came)

    def keep(self, listed: Sequence[FoundFile]) -> None:
        """Note that all files of a listing were taken in. Raises `LoadError` where the disk has no room for that."""
        digests = b"".join(map(_digest, listed))
        self._writing.unlink(missing_ok=True)  # the driver may have put anything there
        with self._writing.open("xb") as file:
            require_room(file.fileno(), len(digests))
            file.write(digests)
            file.flush()
            os.fsync(file.fileno())
        self._writing.replace(self._done)


def _read(path: Path) -> tuple[bytes, float]:
    """Return the digests in a file that the driver may have written too, and the file's time."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
            raise LoadError(f"`{path.name}` in the checkpoint of the stream is no list of files; remove it")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(_LARGEST), found.st_mtime
    finally:
        os.close(descriptor)


def _digest(file: FoundFile) -> bytes:
    return blake2b(f"{file.came} {file.name}".encode(errors="surrogateescape"), digest_size=_DIGEST).digest()
