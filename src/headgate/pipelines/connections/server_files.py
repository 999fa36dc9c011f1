"""The files of the server itself: its data folder, and every file and folder that a setting names. No connection reaches them."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ServerFiles:
    """Files and folders with all that lies in them.

    Each named file or folder is known by every path: through links, a second mount and, for a file, a hard link. A file
    that lies in a named folder is known by its path there alone: a hard link to it elsewhere cannot be told from another file.
    """

    paths: Sequence[Path] = ()

    def is_own(self, path: Path) -> bool:
        """Return whether a path is one of them or lies in one, links resolved."""
        found = Path(os.path.realpath(path))
        if any(found.is_relative_to(each) for named in self.paths for each in (named, Path(os.path.realpath(named)))):
            return True
        own = {each for named in self.paths for each in _identity(named)}
        return any(each in own for part in (found, *found.parents) for each in _identity(part))

    def has_own_below(self, path: Path) -> bool:
        """Return whether one of them is a path or lies in it, links resolved or not: it would go with what is there."""
        found = set(_identity(path))
        for named in self.paths:
            for each in (named.absolute(), Path(os.path.realpath(named))):
                if each.is_relative_to(path) or any(found & set(_identity(part)) for part in (each, *each.parents)):
                    return True
        return False

    def is_own_open(self, descriptor: int) -> bool:
        """Return whether an open file is one of them or lies in one."""
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
    """Return where an open file lies; None where the system does not say."""
    try:
        return Path(f"/proc/self/fd/{descriptor}").readlink()
    except OSError:
        return None
