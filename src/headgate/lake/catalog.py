"""Tables as metadata files and pointers: load, create, commit, purge. The calling code checks the user's privileges.

No input of a client chooses the location or the id of a table. A new metadata file is in effect only once a pointer
names it, so every file written by this module is either pointed to or deleted.
"""

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import AssertCreate, TableRequirement, TableUpdate

from headgate.control.kernel.idempotency import IdempotencyKey
from headgate.control.kernel.ports import DocumentPut, Pointer, Store
from headgate.control.pipelines.commits import commit_note
from headgate.facts.ids import PrincipalId, ResourceId, RunId
from headgate.lake import idempotency
from headgate.lake.commit_privileges import is_replacement, required_actions
from headgate.lake.commit_stats import commit_stats
from headgate.lake.errors import ConflictError, InvalidMetadataError, LakeError, RuleError
from headgate.lake.file_parsers import FileParsers
from headgate.lake.maintenance import is_maintenance
from headgate.lake.manifest_row_ids import check_row_ids
from headgate.lake.manifests import TableFiles
from headgate.lake.metadata import NewTable, build_updated_metadata, check_requirements, new_metadata, parse_metadata
from headgate.lake.metadata_files import LoadedTable, MetadataFile, MetadataFiles
from headgate.lake.metadata_rules import check_changed_metadata, check_metadata, list_named_files
from headgate.lake.register import register_dropped
from headgate.lake.snapshot_files import check_snapshot_files
from headgate.lake.snapshot_history import check_new_snapshots
from headgate.lake.staged_creates import Staged, StagedCreates
from headgate.lake.table_updates import find_assigned_uuid, list_added_snapshots
from headgate.lake.warehouse import NOT_OURS, Warehouse
from headgate.untrusted_input.blocking_pool import BlockingPool


@dataclass(frozen=True, slots=True)
class CheckedCommit:
    """A validated commit, with the actions that it requires.

    `replaces`: the commit keeps no rows of the table, which is equivalent to dropping the table and creating another.
    `maintains`: the commit claims to rewrite files without changing rows, or it expires snapshots.
    """

    base: LoadedTable
    metadata: TableMetadata
    needs: frozenset[str]
    replaces: bool
    maintains: bool


class TableCatalog:
    """The tables of one warehouse. Thread-safe."""

    def __init__(
        self,
        store: Store,
        warehouse: Warehouse,
        parsers: BlockingPool,
        organization: ResourceId,
        clock: Callable[[], float],
    ) -> None:
        """`parsers` are shared fairly by all organizations: no organization can make another wait for long."""
        self._store = store
        self._warehouse = warehouse
        self._parsers = partial(FileParsers, parsers, organization)
        self._pointed = MetadataFiles(store, warehouse)
        self._clock = clock
        self._staged = StagedCreates()

    def load(self, table: ResourceId) -> LoadedTable:
        """Return a table's current metadata. Raises `MissingMetadataError`."""
        return self.read(self.find(table))

    def find(self, table: ResourceId) -> MetadataFile:
        """Return the file of a table's current metadata, which is not read. Raises `MissingMetadataError`."""
        return self._pointed.find(table)

    def read(self, file: MetadataFile) -> LoadedTable:
        """Return the metadata in a file. Raises `InvalidMetadataError`."""
        metadata = parse_metadata(self._pointed.read(file))
        check_metadata(metadata, file.pointer.table, file.location)
        return LoadedTable(file.pointer, metadata)

    def create(self, new: NewTable, database: ResourceId) -> LoadedTable:
        """Write the first metadata of a new table. The pointer is not stored yet: it is stored with the table's fact."""
        return self._write(self._new(new, database), None)

    def stage(self, owner: PrincipalId, new: NewTable, database: ResourceId, name: str) -> TableMetadata:
        """Return the metadata of a new table for a staged create. Only `owner` can commit it, under this name."""
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
    ) -> LoadedTable:
        """Write the metadata of a staged table. The pointer is not stored yet: it is stored with the table's fact."""
        check_requirements(requirements, None)
        staged = self._require_staged(owner, database, name, updates)
        metadata = build_updated_metadata(None, None, updates)
        check_changed_metadata(None, metadata, staged.table, staged.location)
        self._check_files((), metadata, updates)
        check_new_snapshots(metadata, updates, self._clock())
        return self._write(metadata, None)

    def drop_staged(self, owner: PrincipalId, table: ResourceId) -> None:
        """Remove a staged create whose pointer was stored."""
        self._staged.drop(owner, table)

    def is_staged_commit(self, base: LoadedTable, updates: Sequence[TableUpdate]) -> bool:
        """Whether exactly these updates of a staged create created the table, and it has not changed since."""
        return find_assigned_uuid(updates) == base.pointer.table and self._is_step(None, updates, base)

    def register(self, path: str) -> LoadedTable:
        """Return a table from the metadata file of a dropped table. The pointer is stored with the table's fact."""
        return register_dropped(self._store, self._warehouse, path, self._parsers())

    def already_applied(
        self,
        base: LoadedTable,
        requirements: Sequence[TableRequirement],
        updates: Sequence[TableUpdate],
        once: IdempotencyKey | None,
    ) -> bool:
        """Whether the commit was applied to the table before, so that the request is a retry."""
        if idempotency.was_applied(self._store, base.pointer.table, once) or idempotency.contains_snapshots(
            base.metadata, updates
        ):
            return True
        try:
            check_requirements(requirements, base.metadata)
        except ConflictError:
            return self._was_last(base, requirements, updates)
        return False

    def prepare(
        self,
        base: LoadedTable,
        requirements: Sequence[TableRequirement],
        updates: Sequence[TableUpdate],
        *,
        guarded: bool,
    ) -> CheckedCommit:
        """Check a commit and find the actions that it requires.

        Raises `ConflictError`, `RuleError`, `InvalidMetadataError` or `BusyError`.
        """
        check_requirements(requirements, base.metadata)
        path = base.pointer.metadata_location
        metadata = build_updated_metadata(base.metadata, path, updates)
        check_changed_metadata(base.metadata, metadata, base.pointer.table, base.metadata.location)
        files = self._check_files(base.metadata.snapshots, metadata, updates)
        check_new_snapshots(metadata, updates, self._clock())
        needs = required_actions(base.metadata, metadata, updates, files, guarded=guarded)
        return CheckedCommit(
            base, metadata, needs, is_replacement(base.metadata, metadata), is_maintenance(base.metadata, metadata)
        )

    def commit(
        self,
        commits: Sequence[CheckedCommit],
        confirm: Callable[[], None],
        once: IdempotencyKey | None = None,
        run: RunId | None = None,
    ) -> tuple[LoadedTable, ...]:
        """Set the tables to the prepared metadata, all or none. Raises `ConflictError` if another commit was faster.

        `confirm` raises if the commit is no longer allowed; it is called after the files were written, which is slow.
        `run` is the run that commits; it is recorded with the commit.
        """
        written: list[LoadedTable] = []
        try:
            for each in commits:
                written.append(self._write(each.metadata, each.base.pointer.metadata_location))  # noqa: PERF401 (the files written so far must be known if a later one fails)
            confirm()
        except BaseException:
            for each in written:
                self.delete_orphan(each)
            raise
        moves = [(old.base.pointer, new.file) for old, new in zip(commits, written, strict=True)]
        kept = [put for each in commits for put in idempotency.record(self._store, each.base.pointer.table, once)]
        noted = [put for each in commits for put in self.run_note(run, each.base.metadata, each.metadata)]
        self._pointed.swap(moves, [*kept, *noted])
        return tuple(written)

    def run_note(
        self, run: RunId | None, base: TableMetadata | None, metadata: TableMetadata
    ) -> tuple[DocumentPut, ...]:
        """Return the documents to write with a run's commit that adds snapshots, so that no later attempt repeats it."""
        added = commit_stats(base, metadata)
        if run is None or not added["snapshots"]:
            return ()
        columns = {each.name: str(each.field_type) for each in metadata.schema().fields}
        return (commit_note(self._store, run, ResourceId(str(metadata.table_uuid)), added, columns),)

    def delete_orphan(self, written: LoadedTable) -> None:
        """Delete a metadata file that no pointer names."""
        self._pointed.discard(written.file)

    def check_purge(self, dropped: LoadedTable) -> None:
        """Raise `RuleError` unless the table's files are in its own folder of the warehouse, so that a purge may delete them."""
        if self._warehouse.owner(dropped.metadata.location) != dropped.pointer.table:
            raise RuleError(NOT_OURS)

    def purge(self, dropped: LoadedTable) -> None:
        """Delete the files of a dropped table."""
        self._warehouse.purge(dropped.metadata.location, dropped.pointer.table, self._list_files(dropped))

    def _new(self, new: NewTable, database: ResourceId) -> TableMetadata:
        table = ResourceId(str(uuid.uuid4()))
        location = self._warehouse.location(database, table)
        metadata = new_metadata(new, table, location)
        check_metadata(metadata, table, location)
        return metadata

    def _require_staged(
        self, owner: PrincipalId, database: ResourceId, name: str, updates: Sequence[TableUpdate]
    ) -> Staged:
        table = find_assigned_uuid(updates)
        if table is None:
            raise InvalidMetadataError(
                "the commit that creates the table has no update `assign-uuid`, or several; send one, with the uuid from the response to the staged create"
            )
        staged = self._staged.get(owner, table)
        if staged is None or (staged.database, staged.name) != (database, name):
            raise RuleError(
                "you have not staged the creation of a table with this uuid and name, or you staged it too long ago; stage the creation again"
            )
        return staged

    def _was_last(
        self, base: LoadedTable, requirements: Sequence[TableRequirement], updates: Sequence[TableUpdate]
    ) -> bool:
        if not base.metadata.metadata_log:
            return False
        pointer = Pointer(base.pointer.table, base.metadata.metadata_log[-1].metadata_file)
        try:
            before = parse_metadata(self._pointed.read(MetadataFile(pointer, base.metadata.location)))
            check_requirements(requirements, before)
        except LakeError:
            return False
        return self._is_step(LoadedTable(pointer, before), updates, base)

    def _is_step(self, before: LoadedTable | None, updates: Sequence[TableUpdate], after: LoadedTable) -> bool:
        start, path = (before.metadata, before.pointer.metadata_location) if before else (None, None)
        try:
            return idempotency.is_same_result(build_updated_metadata(start, path, updates), after.metadata)
        except LakeError:
            return False

    def _check_files(
        self, before: Iterable[Snapshot], metadata: TableMetadata, updates: Sequence[TableUpdate]
    ) -> TableFiles:
        """Raise `RuleError` or `InvalidMetadataError` for a snapshot that the updates add and whose manifests are not allowed.

        A parent counts only if it was checked before: a snapshot may name itself or a later one.
        """
        files = TableFiles(self._warehouse, metadata.location, self._parsers())
        checked: dict[int | None, Snapshot] = {each.snapshot_id: each for each in before}
        for snapshot in list_added_snapshots(updates):
            parent = checked.get(snapshot.parent_snapshot_id)
            known = files.manifests(parent) if parent else {}
            check_snapshot_files(files, snapshot, known, metadata)
            check_row_ids(files, snapshot, known, metadata.format_version)
            checked[snapshot.snapshot_id] = snapshot
        return files

    def _list_files(self, loaded: LoadedTable) -> Iterator[str]:
        metadata = loaded.metadata
        files = TableFiles(self._warehouse, metadata.location, self._parsers())
        yield from dict.fromkeys(files.list_named_files(metadata.snapshots))
        yield from list_named_files(metadata)
        yield loaded.pointer.metadata_location

    def _write(self, metadata: TableMetadata, base_path: str | None) -> LoadedTable:
        table = ResourceId(str(metadata.table_uuid))
        file = self._pointed.write(table, metadata.location, base_path, metadata.model_dump_json().encode())
        return LoadedTable(file.pointer, metadata)


def is_create(requirements: Sequence[TableRequirement]) -> bool:
    """Whether a commit creates its table (`assert-create`)."""
    return any(isinstance(requirement, AssertCreate) for requirement in requirements)
