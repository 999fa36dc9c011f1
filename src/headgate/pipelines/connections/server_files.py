"""The server's own files: its data folder, and every file and folder that a setting names. No connection may reach them."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ServerFiles:
    """Files, and folders with their contents.

    A named file or folder is recognized by any path: through links, a second mount and, for a file, a hard link. A file inside
    a named folder is recognized only by its path there: a hard link to it elsewhere looks like any other file.
    """

    paths: Sequence[Path] = ()

    def is_own(self, path: Path) -> bool:
        """Whether a path, with its links resolved, is one of the server's files or is inside one of its folders."""
        found = Path(os.path.realpath(path))
        if any(found.is_relative_to(each) for named in self.paths for each in (named, Path(os.path.realpath(named)))):
            return True
        own = {each for named in self.paths for each in _identity(named)}
        return any(each in own for part in (found, *found.parents) for each in _identity(part))

    def has_own_below(self, path: Path) -> bool:
        """Whether a path is or contains one of the server's files, links resolved or not: replacing it would delete them."""
        found = set(_identity(path))
        for named in self.paths:
            for each in (named.absolute(), Path(os.path.realpath(named))):
                if each.is_relative_to(path) or any(found & set(_identity(part)) for part in (each, *each.parents)):
                    return True
        return False

    def is_own_open(self, descriptor: int) -> bool:
        """Whether an open file is one of the server's files or is inside one of its folders."""
        status = os.fstat(descriptor)
        if any((status.st_dev, status.st_ino) in _identity(named) for named in self.paths):
            return True
        return (path := _path_of(descriptor)) is not None and self.is_own(path)


def _identity(path: Path) -> Iterator[tuple[int, int]]:
    try:
        status = path.stat()
    except OSError:
        return
    yield status.st_dev, status.st_ino


def _path_of(descriptor: int) -> Path | None:
    """Return the path of an open file; None if the operating system does not report it."""
    try:
        return Path(f"/proc/self/fd/{descriptor}").readlink()
    except OSError:
        return None
