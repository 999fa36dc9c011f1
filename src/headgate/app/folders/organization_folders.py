"""The folders of one organization in the data folder: what is in them, and their removal."""

import errno
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from headgate.control.kernel.errors import InvalidError
from headgate.facts.ids import ResourceId, is_folder_name

ROOTS = ("warehouse", "checkpoints", "scratch")
"""Each holds a folder for each organization, of the organization's id."""

_CHANGED = (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST)
"""How a removal fails when another process deletes or creates files meanwhile."""
_ATTEMPTS = 50
_PAUSE = 0.1
"""Seconds between two attempts, for the other process to end."""


class OrganizationFolders:
    """The folders `warehouse/<id>`, `checkpoints/<id>` and `scratch/<id>`. Nothing is reached through a symbolic link."""

    def __init__(self, data: Path, organization: ResourceId) -> None:
        """`data` is the data folder. Raises `InvalidError` for an id that is no name of a folder."""
        if not is_folder_name(organization):
            raise InvalidError(f"`{organization}` cannot be the name of a folder; remove its files by hand")
        self._data = data
        self._name = organization

    def list_existing(self) -> tuple[Path, ...]:
        """Return the folders that exist."""
        return tuple(self._data / root / self._name for root, _ in self._open_roots())

    def bytes(self) -> int:
        """Return the size of the files in them."""
        return sum(_size(root_fd, self._name) for _, root_fd in self._open_roots())

    def remove(self) -> None:
        """Remove them with everything in them. Raises `OSError` if something cannot be removed.

        A Spark driver of the organization may be ending: it deletes its scratch files itself and may still write some.
        """
        for left in reversed(range(_ATTEMPTS)):
            try:
                self._remove()
            except OSError as error:
                if error.errno not in _CHANGED or not left:
                    raise
                time.sleep(_PAUSE)
            else:
                return

    def _remove(self) -> None:
        for _, root_fd in self._open_roots():
            shutil.rmtree(self._name, dir_fd=root_fd)

    def _open_roots(self) -> Iterator[tuple[str, int]]:
        """Yield the roots that hold a folder of the organization, each open while it is looked at."""
        for root in ROOTS:
            with suppress(FileNotFoundError, NotADirectoryError), _folder(root, self._data) as root_fd:
                with _folder(self._name, root_fd):
                    pass
                yield root, root_fd


@contextmanager
def _folder(name: str, above: Path | int) -> Iterator[int]:
    """Open a folder that is no link. Raises `NotADirectoryError` for a link or a file, `FileNotFoundError`."""
    if isinstance(above, Path):
        descriptor = os.open(above / name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    else:
        descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _size(root_fd: int, name: str) -> int:
    size = 0
    for _, _, files, folder_fd in os.fwalk(name, dir_fd=root_fd):
        for file in files:
            with suppress(FileNotFoundError):  # a driver deletes its scratch files meanwhile
                size += os.stat(file, dir_fd=folder_fd, follow_symlinks=False).st_size
    return size
