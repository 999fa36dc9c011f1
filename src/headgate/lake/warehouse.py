"""The files of the warehouse: where a table lies, reading, durable writing, removing."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from headgate.facts.ids import ResourceId
from headgate.lake.containment import inside, path_of
from headgate.lake.errors import InvalidError, RuleError

OUTSIDE = "a file of a table must lie inside the table's location"
NOT_OURS = "the files of this table are not in Headgate's warehouse; drop it without a purge, and they stay"


class Warehouse(Protocol):
    """A place that holds a folder per table: `<database id>/<table id>`. Imported tables lie elsewhere in its reach."""

    def location(self, database: ResourceId, table: ResourceId) -> str:
        """Return where a new table of this database lies."""
        ...

    def check(self, location: str, path: str) -> None:
        """Raise `RuleError` if a file of the table at `location`, wherever a link leads, lies outside of it."""
        ...

    def read(self, location: str, path: str) -> bytes:
        """Return a file of the table at `location`. Raises `RuleError`, or `InvalidError` if it cannot be read."""
        ...

    def write_new(self, location: str, path: str, content: bytes) -> None:
        """Write a file of the table that is not there yet, so that it survives a crash once this returns."""
        ...

    def remove(self, location: str, path: str) -> None:
        """Remove a file of the table that nothing points to."""
        ...

    def owner(self, location: str) -> ResourceId | None:
        """Return the table whose own folder of the warehouse this is; None for any other place."""
        ...

    def holds(self, location: str) -> bool:
        """Return whether a location is the warehouse, lies in it or around it."""
        ...

    def purge(self, location: str, table: ResourceId, files: Iterator[str]) -> None:
        """Remove all files of a dropped table in its own folder; `files` names them where a folder cannot be listed."""
        ...


class FileWarehouse:
    """A folder of this machine."""

    def __init__(self, root: Path) -> None:
        """Make the folder if it is not there. Raises `RuleError` for a path that engines would read differently."""
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._root = path_of(os.path.realpath(root))

    def location(self, database: ResourceId, table: ResourceId) -> str:
        """Return where a new table of this database lies."""
        return f"file://{self._root}/{database}/{table}"

    def check(self, location: str, path: str) -> None:
        """Raise `RuleError` if a file of the table at `location`, wherever a link leads, lies outside of it."""
        self._resolved(location, path)

    def read(self, location: str, path: str) -> bytes:
        """Return a file of the table at `location`. Raises `RuleError`, or `InvalidError` if it cannot be read."""
        try:
            return self._resolved(location, path).read_bytes()
        except OSError as error:
            raise InvalidError("a file that the table names cannot be read") from error

    def write_new(self, location: str, path: str, content: bytes) -> None:
        """Write a file of the table that is not there yet, so that it survives a crash once this returns."""
        file = self._resolved(location, path)
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
        self._resolved(location, path).unlink(missing_ok=True)

    def owner(self, location: str) -> ResourceId | None:
        """Return the table whose own folder of the warehouse this is; None for any other place."""
        return owner_of(self._root, location)

    def holds(self, location: str) -> bool:
        """Return whether a location is the warehouse, lies in it or around it."""
        real = os.path.realpath(path_of(location))
        return real == self._root or inside(self._root, real) or inside(real, self._root)

    def purge(self, location: str, table: ResourceId, files: Iterator[str]) -> None:  # noqa: ARG002 (a folder of this machine is removed whole)
        """Remove all files of a dropped table in its own folder. Raises `RuleError` for any other place."""
        if self.owner(location) != table:
            raise RuleError(NOT_OURS)
        path = path_of(location)
        if os.path.realpath(path) == path:
            shutil.rmtree(path, ignore_errors=True)

    def _resolved(self, location: str, path: str) -> Path:
        if not inside(location, path):
            raise RuleError(OUTSIDE)
        real = os.path.realpath(path_of(path))
        if not inside(location, real):
            raise RuleError("a file of a table must not lead out of the table's location by a link")
        return Path(real)


def owner_of(root: str, location: str) -> ResourceId | None:
    """Return the table whose folder `<database id>/<table id>` below the root this is; None for any other place."""
    if not inside(root, location):
        return None
    parts = location.rstrip("/").removeprefix("file://").removeprefix(root.rstrip("/") + "/").split("/")
    return ResourceId(parts[1]) if len(parts) == 2 else None  # noqa: PLR2004 (a database and a table)


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
