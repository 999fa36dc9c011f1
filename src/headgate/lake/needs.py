"""Which actions a commit needs, from what it makes of the table. What the updates are called does not matter."""

from collections.abc import Iterator, Mapping, Sequence

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.snapshots import Operation, Snapshot
from pyiceberg.table.update import AddSnapshotUpdate, TableUpdate

from headgate.lake.effects import EVERYTHING, NOTHING, Effect, effect
from headgate.lake.manifests import TableFiles

_HISTORY = frozenset(
    {
        "snapshots",
        "refs",
        "current_snapshot_id",
        "snapshot_log",
        "metadata_log",
        "last_updated_ms",
        "last_sequence_number",
        "next_row_id",
    }
)
"""What data commits change. Any other field of the metadata, known today or not, is structure."""

_REWRITE = frozenset({"table.insert", "table.update", "table.delete_rows"})


def commit_needs(
    base: TableMetadata,
    updated: TableMetadata,
    updates: Sequence[TableUpdate],
    files: TableFiles,
    *,
    guarded: bool,
) -> frozenset[str]:
    """Return the actions that somebody needs for this commit.

    A guarded session's statement was decided before; there the parts of the commit are enough. Anybody else
    reads what the metadata names, and needs every way to change rows for anything but a plain append.
    """
    added = [update.snapshot for update in updates if isinstance(update, AddSnapshotUpdate)]
    known = {snapshot.snapshot_id: snapshot for snapshot in (*base.snapshots, *added)}
    done = NOTHING
    for snapshot in added:
        done |= effect(files, snapshot, _parent(known, snapshot))
    for moved in _moves(base, updated, known, files):
        done |= moved
    appends = all(snapshot.summary and snapshot.summary.operation == Operation.APPEND for snapshot in added)
    needs = _data_needs(done, guarded=guarded, appends=appends) | _structure_needs(base, updated)
    if not needs or (added and not needs & _REWRITE):
        needs |= {"table.insert"}
    return needs if guarded else needs | {"table.select"}


def _data_needs(done: Effect, *, guarded: bool, appends: bool) -> frozenset[str]:
    if not guarded and (done.removes or not appends):
        return _REWRITE
    adds = {"table.insert"} if done.adds else set[str]()
    return frozenset(adds | ({"table.delete_rows"} if done.removes else set[str]()))


def _structure_needs(base: TableMetadata, updated: TableMetadata) -> frozenset[str]:
    fields = type(updated).model_fields.keys() - _HISTORY
    if any(getattr(base, name, None) != getattr(updated, name) for name in fields):
        return frozenset({"table.alter"})
    if any(_is_altered(base, updated, name) for name in base.refs.keys() | updated.refs.keys()):
        return frozenset({"table.alter"})
    if {each.snapshot_id for each in base.snapshots} - {each.snapshot_id for each in updated.snapshots}:
        return frozenset({"table.alter"})
    return frozenset()


def _is_altered(base: TableMetadata, updated: TableMetadata, name: str) -> bool:
    """Return whether a branch or tag is made, removed or set up differently, rather than written to."""
    before, after = base.refs.get(name), updated.refs.get(name)
    if before is None or after is None:
        return name != MAIN_BRANCH
    if after.snapshot_ref_type != SnapshotRefType.BRANCH:
        return before != after
    return before != after.model_copy(update={"snapshot_id": before.snapshot_id})


def _moves(
    base: TableMetadata, updated: TableMetadata, known: Mapping[int, Snapshot], files: TableFiles
) -> Iterator[Effect]:
    if {each.snapshot_id for each in base.snapshots} - {each.snapshot_id for each in updated.snapshots}:
        yield Effect(adds=False, removes=True)
    for name in base.refs.keys() | updated.refs.keys():
        before, after = base.refs.get(name), updated.refs.get(name)
        if after is None:
            yield Effect(adds=False, removes=True)
        elif before is None or before.snapshot_id != after.snapshot_id:
            yield _way(before.snapshot_id if before else None, after.snapshot_id, known, files)


def _way(start: int | None, end: int, known: Mapping[int, Snapshot], files: TableFiles) -> Effect:
    """Return what happens between two heads of a branch: everything, if one does not lead to the other."""
    done, current, seen = NOTHING, known.get(end), set[int]()
    while current is not None and current.snapshot_id not in seen:
        seen.add(current.snapshot_id)
        done |= effect(files, current, _parent(known, current))
        if current.parent_snapshot_id == start:
            return done
        current = known.get(current.parent_snapshot_id) if current.parent_snapshot_id is not None else None
    return EVERYTHING


def _parent(known: Mapping[int, Snapshot], snapshot: Snapshot) -> Snapshot | None:
    return None if snapshot.parent_snapshot_id is None else known.get(snapshot.parent_snapshot_id)
