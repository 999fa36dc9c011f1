"""The files of the warehouse on this machine: where a table lies, reading, durable writing, removing."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headgate.facts.ids import ResourceId
from headgate.lake.containment import inside, path_of
from headgate.lake.errors import InvalidError, RuleError


class Warehouse:
    """A folder that holds a folder per table: `<database id>/<table id>`."""

    def __init__(self, root: Path) -> None:
        """Make the folder if it is not there. Raises `RuleError` for a path that engines would read differently."""
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._root = path_of(os.path.realpath(root))

    def location(self, database: ResourceId, table: ResourceId) -> str:
        """Return where a new table of this database lies."""
        return f"file://{self._root}/{database}/{table}"

    def resolve(self, location: str, path: str) -> Path:
        """Return the real path of a file of the table at `location`.

        Raises `RuleError` if the file, or what a symbolic link on the way leads to, lies outside the location.
        """
        if not inside(location, path):
            raise RuleError("a file of a table must lie inside the table's location")
        real = os.path.realpath(path_of(path))
        if not inside(location, real):
            raise RuleError("a file of a table must not lead out of the table's location by a link")
        return Path(real)

    def read(self, location: str, path: str) -> bytes:
        """Return a file of the table at `location`. Raises `RuleError`, or `InvalidError` if it cannot be read."""
        try:
            return self.resolve(location, path).read_bytes()
        except OSError as error:
            raise InvalidError("a file that the table names cannot be read") from error

    def write_new(self, location: str, path: str, content: bytes) -> None:
        """Write a file of the table that is not there yet, so that it survives a crash once this returns."""
        file = self.resolve(location, path)
        missing = [file.parent, *file.parent.parents]
        made = [folder.parent for folder in missing if not folder.exists()]
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        for folder in (file.parent, *made):
            _sync_folder(folder)

    def remove(self, location: str, path: str) -> None:
        """Remove a file of the table that nothing points to."""
        self.resolve(location, path).unlink(missing_ok=True)

    def purge(self, location: str, table: ResourceId) -> None:
        """Remove all files of a dropped table. Raises `RuleError` if this is not the location of that table."""
        if not inside(self._root, location) or Path(path_of(location)).name != table:
            raise RuleError("only a table's own location can be purged")
        path = path_of(location)
        if os.path.realpath(path) == path:
            shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    with _opened(folder) as descriptor:
        os.fsync(descriptor)
