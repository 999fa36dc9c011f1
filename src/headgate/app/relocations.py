"""Moves the tables of an earlier version into the folders of their organizations: one by one, so that it can be resumed."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headgate.control.kernel.ports import Pointer, PointerMove
from headgate.control.kernel.private_files import sync_folder
from headgate.control.organizations.organization import Organization, Organizations
from headgate.control.questions.messages import display_name
from headgate.facts.ids import ResourceId
from headgate.lake.containment import is_inside, path_of
from headgate.lake.errors import RuleError
from headgate.lake.former_databases import FormerDatabases
from headgate.lake.metadata_files import location_of
from headgate.lake.relocation import Relocation
from headgate.lake.relocation_process import read_relocated
from headgate.lake.warehouse import find_former_database, organization_root, require_own

_MOVED = ".moved"
"""A marker file in the former folder of a moved table, with the id of its organization."""


@dataclass(frozen=True, slots=True)
class FormerTable:
    """A table or view whose files are outside its organization's folder, with their old and new location."""

    organization: Organization
    pointer: Pointer
    relocation: Relocation

    @property
    def name(self) -> str:
        """The full name of the table."""
        return display_name(self.organization.control.snapshot, self.pointer.table)

    def measure_size(self) -> int:
        """Return the size of its files in bytes; a link counts with its own size."""
        return sum(each.lstat().st_size for each in Path(path_of(self.relocation.old)).rglob("*") if not each.is_dir())


class Relocations:
    """The tables that an earlier version put into one folder for all organizations."""

    def __init__(self, organizations: Organizations, warehouse: Path) -> None:
        """`warehouse` is the folder of the deployment's warehouse."""
        self._organizations = organizations
        self._warehouse = path_of(os.path.realpath(warehouse))
        self._former_databases: dict[ResourceId, FormerDatabases] = {}

    def list_waiting(self) -> Iterator[FormerTable]:
        """Yield the tables and views that have to be moved."""
        for organization in self._organizations.list_all():
            for pointer in sorted(organization.store.pointers(), key=lambda each: each.table):
                old, root = location_of(pointer.metadata_location), organization_root(self._warehouse, organization.id)
                if not is_inside(root, old) and find_former_database(self._warehouse, old) is not None:
                    new = f"file://{root}/{path_of(old).removeprefix(f'{self._warehouse}/')}"
                    yield FormerTable(organization, pointer, Relocation(old, new))

    def move(self, table: FormerTable) -> None:
        """Move one table. Its pointer changes in the last step but one, so an interrupted move can be repeated.

        Raises `LakeError`, `OSError`, or `PointerConflictError` if the table was changed meanwhile.
        """
        relocation, pointer = table.relocation, table.pointer
        self._require_own(table.organization, relocation.old)
        old, new = Path(path_of(relocation.old)), Path(path_of(relocation.new))
        if os.path.realpath(old) != str(old):
            raise RuleError(
                f"the table's folder `{old}` is a symbolic link, or its path has one; replace the link by the "
                "folder to which it leads"
            )
        changed = read_relocated(relocation, pointer.metadata_location)
        _link_all(old, new)
        for path, content in changed.items():
            _write(Path(path_of(path)), content)
        _sync(new)
        _write(old / _MOVED, table.organization.id.encode())
        table.organization.store.swap_pointers([PointerMove(pointer, relocation.path(pointer.metadata_location))])
        shutil.rmtree(old)

    def remove_leftovers(self) -> int:
        """Remove the former folders of moves that were interrupted before their removal; return the number of these folders."""
        count, places = (
            0,
            {pointer.place for each in self._organizations.list_all() for pointer in each.store.pointers()},
        )
        for organization in self._organizations.list_all():
            for pointer in organization.store.pointers():
                former = self._former(organization, location_of(pointer.metadata_location))
                if former is None or Pointer(pointer.table, f"file://{former}/metadata/0").place in places:
                    continue
                if _is_left(former, organization.id):
                    shutil.rmtree(former)
                    count += 1
        return count

    def _former(self, organization: Organization, location: str) -> Path | None:
        """Return the folder from which a table in an organization's folder may have been moved; None for any other location."""
        root = organization_root(self._warehouse, organization.id)
        database = find_former_database(root, location)
        if database is None or database not in self._databases(organization):
            return None
        return Path(self._warehouse, path_of(location).removeprefix(f"{root}/"))

    def _require_own(self, organization: Organization, location: str) -> None:
        require_own(
            self._warehouse,
            organization_root(self._warehouse, organization.id),
            location,
            self._databases(organization),
        )

    def _databases(self, organization: Organization) -> FormerDatabases:
        return self._former_databases.setdefault(organization.id, FormerDatabases(organization.store))


def _is_left(former: Path, organization: ResourceId) -> bool:
    """Whether a move of a table of this organization has left the folder behind."""
    mark = former / _MOVED
    return not former.is_symlink() and mark.is_file() and mark.read_text(encoding="utf-8") == organization


def _link_all(old: Path, new: Path) -> None:
    """Create a hard link in another folder for every file of a folder. Raises `RuleError` for a symbolic link."""
    for above, folders, files in os.walk(old):
        there = new / Path(above).relative_to(old)
        there.mkdir(mode=0o700, parents=True, exist_ok=True)
        link = next((path for each in (*folders, *files) if (path := Path(above, each)).is_symlink()), None)
        if link is not None:
            raise RuleError(
                f"`{link}` in the table's folder is a symbolic link; replace it by the file or folder it leads to"
            )
        for each in files:
            (there / each).unlink(missing_ok=True)
            os.link(Path(above, each), there / each)


def _write(file: Path, content: bytes) -> None:
    # The name may be a hard link to the former file, which must not change.
    file.unlink(missing_ok=True)
    with file.open("xb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def _sync(folder: Path) -> None:
    """Sync the entries of a folder, and of the two folders above it, so that they survive a crash."""
    below = [Path(above) for above, _, _ in os.walk(folder)]
    for each in (*below, *folder.parents[:2]):
        sync_folder(each)
