"""The files of the warehouse: the locations of tables, reading, durable writing, deletion."""

import os
import shutil
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import Protocol

from headgate.control.kernel.private_files import sync_folder
from headgate.facts.ids import ResourceId, is_folder_name
from headgate.lake.containment import is_inside, overlap, path_of, place_of
from headgate.lake.errors import ConflictError, GoneError, InvalidMetadataError, RuleError
from headgate.lake.regular_files import read_regular_file

MAX_FILE_BYTES = 64 * 1024 * 1024
"""The maximum size of a file that is read whole: a metadata file, a manifest list or a manifest."""
TOO_LARGE = f"a metadata file or manifest of the table is larger than {MAX_FILE_BYTES // 1024 // 1024} MiB; expire snapshots, and call the procedure `rewrite_manifests`"
OUTSIDE = "the metadata of the table names a file outside of the table's location; write all files below that location"
GONE = "a file that the table names does not exist; restore the warehouse from a backup, or drop the table"
NOT_OURS = "the table's files are not in the organization's folder of the warehouse; drop the table without a purge, which keeps its files"
PURGED = (
    "the table was dropped and its files were deleted during the commit, which had no effect; create the table again"
)


class Warehouse(Protocol):
    """The files of one organization's tables: a folder per table, `<organization id>/<database id>/<table id>`.

    A deployment has one folder, or one prefix in a bucket, for the warehouses of all its organizations; each organization
    creates, registers and purges tables only below its own root. Imported tables are outside of the deployment's warehouse.
    """

    def location(self, database: ResourceId, table: ResourceId) -> str:
        """Return the location of a new table of this database."""
        ...

    def check(self, location: str, path: str) -> None:
        """Raise `RuleError` if `path`, a file of the table at `location`, is outside of it; links are followed."""
        ...

    def read(self, location: str, path: str) -> bytes:
        """Return the content of a file of the table. Raises `RuleError`, or `InvalidMetadataError` if it cannot be read."""
        ...

    def write_new(self, location: str, path: str, content: bytes) -> None:
        """Write a new file of the table. The file survives a crash after the call returns.

        Raises `RuleError`, or `ConflictError` if the folder of the table is deleted at the same moment.
        """
        ...

    def remove(self, location: str, path: str) -> None:
        """Delete a file of the table that no pointer names."""
        ...

    def owner(self, location: str) -> ResourceId | None:
        """Return the id of the table whose folder below the organization's root is `location`; None for other locations."""
        ...

    def holds(self, location: str) -> bool:
        """Whether a location overlaps the deployment's warehouse: is equal to it, inside it or around it."""
        ...

    def purge(self, location: str, table: ResourceId, files: Iterator[str]) -> None:
        """Delete all files of a dropped table in its own folder; `files` names them for a store without folders."""
        ...


class FileWarehouse:
    """A warehouse on this machine: an organization's folder in the deployment's folder."""

    def __init__(self, folder: Path, organization: ResourceId, former: Container[ResourceId] = ()) -> None:
        """Create the deployment's folder if it is missing. `former` are the organization's databases, including dropped ones.

        Raises `RuleError` for a path that engines would interpret differently, and for an organization id that cannot be the
        name of a folder.
        """
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._all = path_of(os.path.realpath(folder))
        self._root = organization_root(self._all, organization)
        self._former = former

    def location(self, database: ResourceId, table: ResourceId) -> str:
        """Return the location of a new table of this database."""
        return f"file://{self._root}/{database}/{table}"

    def check(self, location: str, path: str) -> None:
        """Raise `RuleError` if `path`, a file of the table at `location`, is outside of it; links are followed."""
        self._resolve(location, path)

    def read(self, location: str, path: str) -> bytes:
        """Return the content of a file of the table. Raises `RuleError`, or `InvalidMetadataError` if it cannot be read."""
        try:
            content = read_regular_file(self._resolve(location, path), MAX_FILE_BYTES + 1)
        except FileNotFoundError as error:
            raise GoneError(GONE) from error
        except OSError as error:
            raise InvalidMetadataError(
                "a file of the table cannot be read; ask the operator to check the disk and the permissions of the warehouse, then retry"
            ) from error
        if len(content) > MAX_FILE_BYTES:
            raise InvalidMetadataError(TOO_LARGE)
        return content

    def write_new(self, location: str, path: str, content: bytes) -> None:
        """Write a new file of the table. The file survives a crash after the call returns."""
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
        """Delete a file of the table that no pointer names."""
        self._resolve(location, path).unlink(missing_ok=True)

    def owner(self, location: str) -> ResourceId | None:
        """Return the id of the table whose folder below the organization's root is `location`; None for other locations."""
        return owner_of(self._root, location)

    def holds(self, location: str) -> bool:
        """Whether a location overlaps the deployment's warehouse: is equal to it, inside it or around it."""
        return overlap(self._all, os.path.realpath(path_of(location)))

    def purge(self, location: str, table: ResourceId, files: Iterator[str]) -> None:  # noqa: ARG002 (a local folder is deleted as a whole)
        """Delete all files of a dropped table in its own folder. Raises `RuleError` for any other location."""
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
            raise RuleError(
                "the path of a file of the table leads through a symbolic link out of the table's location; replace the link with the file"
            )
        return Path(real)


def organization_root(warehouse: str, organization: ResourceId) -> str:
    """Return the folder or prefix of an organization's tables. Raises `RuleError` for an id that cannot be a folder's name."""
    if not is_folder_name(organization):
        raise RuleError(
            f"the id `{organization}` of the organization cannot be the name of a folder; create the organization with another id"
        )
    return f"{warehouse.rstrip('/')}/{organization}"


def require_own(warehouse: str, root: str, location: str, former: Container[ResourceId]) -> None:
    """Raise `RuleError` for a location in another organization's part of the warehouse.

    Tables of an earlier version, without a root per organization, are in a folder of their database directly below the
    warehouse; `former` are the organization's own databases.
    """
    if not is_inside(warehouse, location) or is_inside(root, location):
        return
    database = find_former_database(warehouse, location)
    if database is None or database not in former:
        raise RuleError(NOT_OURS)


def find_former_database(warehouse: str, location: str) -> ResourceId | None:
    """Return the database of a table of an earlier version, without a root per organization; None for other locations."""
    found = _table_folder(warehouse, location)
    return found[0] if found else None


def may_adopt(warehouse: Warehouse, location: str, named: Iterable[str]) -> bool:
    """Whether a table of another deployment may be at `location`: in the organization's root, or in a folder in `named`.

    `named` are the folders and prefixes that the operator has named; none of them allows the deployment's warehouse.
    """
    try:
        return warehouse.owner(location) is not None or (
            not warehouse.holds(location) and any(is_inside(each, location) for each in named)
        )
    except RuleError:
        return False


def owner_of(root: str, location: str) -> ResourceId | None:
    """Return the id of the table whose folder `<database id>/<table id>` is `location`; None for other locations."""
    found = _table_folder(root, location)
    return found[1] if found else None


def _table_folder(root: str, location: str) -> tuple[ResourceId, ResourceId] | None:
    """Return the database and the table of a folder `<database id>/<table id>` below the root; None for other locations."""
    if not is_inside(root, location):
        return None
    parts = place_of(location).removeprefix(place_of(root).rstrip("/") + "/").split("/")
    return (ResourceId(parts[0]), ResourceId(parts[1])) if len(parts) == 2 else None  # noqa: PLR2004 (a database and a table)
