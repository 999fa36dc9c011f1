"""Maintenance commits: files rewritten with the same rows (compaction), or snapshots expired."""

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRef
from pyiceberg.table.snapshots import Operation, Snapshot

from headgate.lake.commit_privileges import HISTORY

_STATISTICS = frozenset({"statistics", "partition_statistics"})
"""The fields whose entries are removed with an expired snapshot."""


def is_maintenance(base: TableMetadata, updated: TableMetadata) -> bool:
    """Whether only files of the main branch change, by one snapshot that claims to replace them, and old snapshots expire.

    Metadata cannot prove that the files have the same rows: in a guarded session, the statement does.
    """
    there = {each.snapshot_id for each in base.snapshots}
    added = [each for each in updated.snapshots if each.snapshot_id not in there]
    fields = type(updated).model_fields.keys() - HISTORY - _STATISTICS
    same = all(getattr(base, name, None) == getattr(updated, name) for name in fields)
    fewer = all(set(map(repr, getattr(updated, name))) <= set(map(repr, getattr(base, name))) for name in _STATISTICS)
    return same and fewer and _refs_hold(base, updated, added)


def _refs_hold(base: TableMetadata, updated: TableMetadata, added: list[Snapshot]) -> bool:
    main = base.refs.get(MAIN_BRANCH)
    if not added or main is None:
        return not added and base.refs == updated.refs
    rewritten = len(added) == 1 and _rewrites(added[0], main)
    return rewritten and updated.refs == {**base.refs, MAIN_BRANCH: _move_ref(main, added[0])}


def _rewrites(snapshot: Snapshot, main: SnapshotRef) -> bool:
    replaced = snapshot.summary is not None and snapshot.summary.operation == Operation.REPLACE
    return replaced and snapshot.parent_snapshot_id == main.snapshot_id


def _move_ref(main: SnapshotRef, snapshot: Snapshot) -> SnapshotRef:
    return main.model_copy(update={"snapshot_id": snapshot.snapshot_id})
