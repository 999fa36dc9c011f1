"""The files of the warehouse: where a table lies, reading, durable writing, removing."""

import os
import shutil
import stat
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from headgate.facts.ids import ResourceId, is_folder_name
from headgate.lake.containment import is_inside, overlap, path_of, place_of
from headgate.lake.errors import ConflictError, GoneError, InvalidMetadataError, RuleError

MAX_FILE_BYTES = 64 * 1024 * 1024
"""Of a file that is read whole: metadata, a manifest list or a manifest."""
TOO_LARGE = f"a file that the table names is larger than {MAX_FILE_BYTES // 1024 // 1024} MiB; rewrite its manifests"
OUTSIDE = "a file of a table must lie inside the table's location"
GONE = "a file that the table names is gone; restore the warehouse from a backup, or drop the table"
NOT_OURS = "the files of this table are not in the organization's folder of the warehouse; drop it without a purge, and they stay"
PURGED = "the files of this table were removed while the commit was written; the table was dropped"


class Warehouse(Protocol):
    """The files of one organization's tables: a folder per table, `<organization id>/<database id>/<table id>`.

    A deployment has one folder, or one prefix in a bucket, for the warehouses of all its organizations; each organization
    makes, registers and removes tables below its own root alone. Imported tables lie outside of the deployment's warehouse.
    """

    def location(self, database: ResourceId, table: ResourceId) -> str:
        """Return where a new table of this database lies."""
        ...

    def check(self, location: str, path: str) -> None:
        """Raise `RuleError` if a file of the table at `location`, wherever a link leads, lies outside of it."""
        ...

    def read(self, location: str, path: str) -> bytes:
        """Return a file of the table at `location`. Raises `RuleError`, or `InvalidMetadataError` if it cannot be read."""
        ...

    def write_new(self, location: str, path: str, content: bytes) -> None:
        """Write a file of the table that is not there yet, so that it survives a crash once this returns.

        Raises `RuleError`, or `ConflictError` if the folder of the table is removed at the same moment.
        """
        ...

    def remove(self, location: str, path: str) -> None:
        """Remove a file of the table that nothing points to."""
        ...

    def owner(self, location: str) -> ResourceId | None:
        """Return the table whose folder below the organization's root this is; None for any other place."""
        ...

    def holds(self, location: str) -> bool:
        """Return whether a location is the deployment's warehouse, lies in it or around it."""
        ...

    def purge(self, location: str, table: ResourceId, files: Iterator[str]) -> None:
        """Remove all files of a dropped table in its own folder; `files` names them where a folder cannot be listed."""
        ...


class FileWarehouse:
    """An organization's folder in a folder of this machine."""

    def __init__(self, folder: Path, organization: ResourceId, former: Container[ResourceId] = ()) -> None:
        """Make the deployment's folder if it is not there. `former` are the organization's databases, also dropped ones.

        Raises `RuleError` for a path that engines would read differently, and for an id that is no name of a folder.
        """
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._all = path_of(os.path.realpath(folder))
        self._root = organization_root(self._all, organization)
        self._former = former

    def location(self, database: ResourceId, table: ResourceId) -> str:
        """Return where a new table of this database lies."""
        return f"file://{self._root}/{database}/{table}"

    def check(self, location: str, path: str) -> None:
        """Raise `RuleError` if a file of the table at `location`, wherever a link leads, lies outside of it."""
        self._resolve(location, path)

    def read(self, location: str, path: str) -> bytes:
        """Return a file of the table at `location`. Raises `RuleError`, or `InvalidMetadataError` if it cannot be read."""
        try:
            content = _read_file(self._resolve(location, path))
        except FileNotFoundError as error:
            raise GoneError(GONE) from error
        except OSError as error:
            raise InvalidMetadataError("a file that the table names cannot be read") from error
        if len(content) > MAX_FILE_BYTES:
            raise InvalidMetadataError(TOO_LARGE)
        return content

    def write_new(self, location: str, path: str, content: bytes) -> None:
        """Write a file of the table that is not there yet, so that it survives a crash once this returns."""
        file = self._resolve(location, path)
        missing = [file.parent, *file.parent.parents]
        made = [folder.parent for folder in missing if not folder.exists()]
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("xb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            for folder in (file.parent, *made):
                sync_folder(folder)
        except FileNotFoundError as error:
            raise ConflictError(PURGED) from error

    def remove(self, location: str, path: str) -> None:
        """Remove a file of the table that nothing points to."""
        self._resolve(location, path).unlink(missing_ok=True)

    def owner(self, location: str) -> ResourceId | None:
        """Return the table whose folder below the organization's root this is; None for any other place."""
        return owner_of(self._root, location)

    def holds(self, location: str) -> bool:
        """Return whether a location is the deployment's warehouse, lies in it or around it."""
        return overlap(self._all, os.path.realpath(path_of(location)))

    def purge(self, location: str, table: ResourceId, files: Iterator[str]) -> None:  # noqa: ARG002 (a folder of this machine is removed whole)
        """Remove all files of a dropped table in its own folder. Raises `RuleError` for any other place."""
        if self.owner(location) != table:
            raise RuleError(NOT_OURS)
        path = path_of(location)
        if os.path.realpath(path) == path:
            shutil.rmtree(path, ignore_errors=True)

    def _resolve(self, location: str, path: str) -> Path:
        require_own(self._all, self._root, location, self._former)
        if not is_inside(location, path):
            raise RuleError(OUTSIDE)
        real = os.path.realpath(path_of(path))
        if not is_inside(location, real):
            raise RuleError("a file of a table must not lead out of the table's location by a link")
        return Path(real)


def organization_root(warehouse: str, organization: ResourceId) -> str:
    """Return the folder, or the prefix, of an organization's tables. Raises `RuleError` for an id that is no such name."""
    if not is_folder_name(organization):
        raise RuleError(f"the id `{organization}` of the organization cannot be the name of a folder")
    return f"{warehouse.rstrip('/')}/{organization}"


def require_own(warehouse: str, root: str, location: str, former: Container[ResourceId]) -> None:
    """Raise `RuleError` for a location in the part of the warehouse that is another organization's.

    Tables from before each organization had a root lie two levels below the warehouse, in a folder of a database of theirs.
    """
    if not is_inside(warehouse, location) or is_inside(root, location):
        return
    database = find_former_database(warehouse, location)
    if database is None or database not in former:
        raise RuleError(NOT_OURS)


def find_former_database(warehouse: str, location: str) -> ResourceId | None:
    """Return the database of a table from before each organization had a root; None for any other place."""
    found = _table_folder(warehouse, location)
    return found[0] if found else None


def may_adopt(warehouse: Warehouse, location: str, named: Iterable[str]) -> bool:
    """Return whether a table of another deployment may lie there: in the organization's root, or where the operator says.

    `named` are the folders and prefixes that the operator has named; none of them opens the deployment's warehouse.
    """
    try:
        return warehouse.owner(location) is not None or (
            not warehouse.holds(location) and any(is_inside(each, location) for each in named)
        )
    except RuleError:
        return False


def owner_of(root: str, location: str) -> ResourceId | None:
    """Return the table whose folder `<database id>/<table id>` below the root this is; None for any other place."""
    found = _table_folder(root, location)
    return found[1] if found else None


def _table_folder(root: str, location: str) -> tuple[ResourceId, ResourceId] | None:
    """Return the database and the table of a folder `<database id>/<table id>` below the root; None for any other place."""
    if not is_inside(root, location):
        return None
    parts = place_of(location).removeprefix(place_of(root).rstrip("/") + "/").split("/")
    return (ResourceId(parts[0]), ResourceId(parts[1])) if len(parts) == 2 else None  # noqa: PLR2004 (a database and a table)


def _read_file(file: Path) -> bytes:
    """Return a file, or one byte more than is allowed of it. Raises `OSError`, also for what is not a file."""
    # Not blocking: opening a pipe would wait for a writer.
    with open(file, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise OSError
        return stream.read(MAX_FILE_BYTES + 1)


@contextmanager
def _open(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder survive a crash."""
    with _open(folder) as descriptor:
        os.fsync(descriptor)
