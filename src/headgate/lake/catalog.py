"""Tables as metadata files and pointers: load, create, commit, purge. Who may do so is decided by the caller.

Nothing a client says chooses where a table lies or which id it has. A new metadata file counts only once a
pointer leads to it, so every file written here is either pointed to or removed.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import AddSnapshotUpdate, AssertCreate, AssignUUIDUpdate, TableRequirement, TableUpdate

from headgate.control.ports import Pointer, PointerConflictError, PointerMove, Store
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.lake.errors import ConflictError, InvalidError, MissingError, RuleError
from headgate.lake.manifests import TableFiles
from headgate.lake.metadata import NewTable, check_requirements, new_metadata, next_path, parse, updated_metadata
from headgate.lake.needs import commit_needs
from headgate.lake.rules import check_metadata
from headgate.lake.staged import Staged, StagedCreates
from headgate.lake.warehouse import Warehouse


@dataclass(frozen=True, slots=True)
class Loaded:
    """A table's metadata and the pointer that leads, or may lead, to it."""

    pointer: Pointer
    metadata: TableMetadata


@dataclass(frozen=True, slots=True)
class Prepared:
    """A commit that is sound, with the actions that it needs."""

    base: Loaded
    metadata: TableMetadata
    needs: frozenset[str]


class TableCatalog:
    """The tables of one warehouse. Safe to use from several threads."""

    def __init__(self, store: Store, warehouse: Warehouse) -> None:
        self._store = store
        self._warehouse = warehouse
        self._staged = StagedCreates()

    def load(self, table: ResourceId) -> Loaded:
        """Return a table's current metadata. Raises `MissingError`."""
        pointer = self._store.pointer(table)
        if pointer is None:
            raise MissingError("the table does not exist")
        location = pointer.metadata_location.rpartition("/metadata/")[0]
        metadata = parse(self._warehouse.read(location, pointer.metadata_location))
        check_metadata(metadata, table, location)
        return Loaded(pointer, metadata)

    def create(self, new: NewTable, database: ResourceId) -> Loaded:
        """Write the first metadata of a new table. The pointer is not stored: it goes with the table's fact."""
        return self._written(self._new(new, database), None)

    def stage(self, owner: PrincipalId, new: NewTable, database: ResourceId, name: str) -> TableMetadata:
        """Return the metadata that a table would have. Only the owner can commit it, under this name."""
        metadata = self._new(new, database)
        self._staged.put(owner, Staged(database, name, ResourceId(str(metadata.table_uuid)), metadata.location))
        return metadata

    def create_staged(
        self,
        owner: PrincipalId,
        database: ResourceId,
        name: str,
        requirements: Sequence[TableRequirement],
        updates: Sequence[TableUpdate],
    ) -> Loaded:
        """Write the metadata of a staged table. The pointer is not stored: it goes with the table's fact."""
        check_requirements(requirements, None)
        staged = self._announced(owner, database, name, updates)
        metadata = updated_metadata(None, None, updates)
        check_metadata(metadata, staged.table, staged.location)
        self._check_files(metadata, updates)
        return self._written(metadata, None)

    def created(self, owner: PrincipalId, table: ResourceId) -> None:
        """Say that a staged table's pointer was stored."""
        self._staged.drop(owner, table)

    def prepare(
        self,
        base: Loaded,
        requirements: Sequence[TableRequirement],
        updates: Sequence[TableUpdate],
        *,
        guarded: bool,
    ) -> Prepared:
        """Check a commit and find what it needs. Raises `ConflictError`, `RuleError` or `InvalidError`."""
        check_requirements(requirements, base.metadata)
        path = base.pointer.metadata_location
        metadata = updated_metadata(base.metadata, path, updates)
        check_metadata(metadata, base.pointer.table, base.metadata.location)
        files = self._check_files(base.metadata, updates)
        return Prepared(base, metadata, commit_needs(base.metadata, metadata, updates, files, guarded=guarded))

    def commit(self, prepared: Prepared) -> Loaded:
        """Make the prepared metadata the table's. Raises `ConflictError` if another commit was faster."""
        written = self._written(prepared.metadata, prepared.base.pointer.metadata_location)
        try:
            self._store.swap_pointers([PointerMove(prepared.base.pointer, written.pointer.metadata_location)])
        except PointerConflictError as error:
            self.discard(written)
            raise ConflictError(str(error)) from error
        return written

    def discard(self, written: Loaded) -> None:
        """Remove a metadata file that no pointer leads to."""
        self._warehouse.remove(written.metadata.location, written.pointer.metadata_location)

    def purge(self, dropped: Loaded) -> None:
        """Remove the files of a table that was dropped."""
        self._warehouse.purge(dropped.metadata.location, dropped.pointer.table)

    def _new(self, new: NewTable, database: ResourceId) -> TableMetadata:
        table = ResourceId(str(uuid.uuid4()))
        location = self._warehouse.location(database, table)
        metadata = new_metadata(new, table, location)
        check_metadata(metadata, table, location)
        return metadata

    def _announced(self, owner: PrincipalId, database: ResourceId, name: str, updates: Sequence[TableUpdate]) -> Staged:
        ids = {str(update.uuid) for update in updates if isinstance(update, AssignUUIDUpdate)}
        if len(ids) != 1:
            raise InvalidError("a create must assign the one uuid that its staged table was given")
        staged = self._staged.get(owner, ResourceId(ids.pop()))
        if staged is None or (staged.database, staged.name) != (database, name):
            raise RuleError("this create was not staged by you under this name, or too long ago; stage it again")
        return staged

    def _check_files(self, base: TableMetadata, updates: Sequence[TableUpdate]) -> TableFiles:
        """Raise `RuleError` if a snapshot that the updates add has a file outside the table's location."""
        files = TableFiles(self._warehouse, base.location)
        for update in updates:
            if isinstance(update, AddSnapshotUpdate):
                parent_id = update.snapshot.parent_snapshot_id
                parent = None if parent_id is None else base.snapshot_by_id(parent_id)
                files.check(update.snapshot, files.manifests(parent) if parent else {})
        return files

    def _written(self, metadata: TableMetadata, base_path: str | None) -> Loaded:
        table = ResourceId(str(metadata.table_uuid))
        path = next_path(metadata.location, base_path, str(uuid.uuid4()))
        self._warehouse.write_new(metadata.location, path, metadata.model_dump_json().encode())
        return Loaded(Pointer(table, path), metadata)


def creates(requirements: Sequence[TableRequirement]) -> bool:
    """Return whether a commit means to create its table."""
    return any(isinstance(requirement, AssertCreate) for requirement in requirements)
