"""The folders of one organization in the data folder: their size and their removal."""

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
"""Folders of the data folder that have a folder for each organization, named by its id."""

_CHANGED = (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST)
"""The errors of a removal while another process deletes or creates files."""
_ATTEMPTS = 50
_PAUSE = 0.1
"""Seconds between two attempts, in which the other process can end."""


class OrganizationFolders:
    """The folders `warehouse/<id>`, `checkpoints/<id>` and `scratch/<id>`. Symbolic links are not followed."""

    def __init__(self, data: Path, organization: ResourceId) -> None:
        """`data` is the data folder. Raises `InvalidError` for an id that cannot be the name of a folder."""
        if not is_folder_name(organization):
            raise InvalidError(
                f"the id `{organization}` of the organization cannot be the name of a folder, so its files cannot be deleted "
                f"together with it; leave out `--with-files`, and delete its files below `{data}` yourself"
            )
        self._data = data
        self._name = organization

    def list_existing(self) -> tuple[Path, ...]:
        """Return the folders that exist."""
        return tuple(self._data / root / self._name for root, _ in self._open_roots())

    def bytes(self) -> int:
        """Return the size of the files in the folders, in bytes."""
        return sum(_size(root_fd, self._name) for _, root_fd in self._open_roots())

    def remove(self) -> None:
        """Remove the folders with all their contents. Raises `OSError` if a file or folder cannot be removed.

        Errors of concurrent changes are retried: a Spark driver of the organization that is stopping deletes its scratch files
        itself, and may still write some.
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
        """Yield the name and open descriptor of each root that contains a folder of the organization."""
        for root in ROOTS:
            with suppress(FileNotFoundError, NotADirectoryError), _folder(root, self._data) as root_fd:
                with _folder(self._name, root_fd):
                    pass
                yield root, root_fd


@contextmanager
def _folder(name: str, above: Path | int) -> Iterator[int]:
    """Open a folder without following a link.

    Raises `NotADirectoryError` for a link or a file, `FileNotFoundError` if there is none.
    """
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
            with suppress(FileNotFoundError):  # a driver may delete its scratch files meanwhile
                size += os.stat(file, dir_fd=folder_fd, follow_symlinks=False).st_size
    return size
