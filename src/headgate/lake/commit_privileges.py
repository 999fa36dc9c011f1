"""The actions that a commit requires, derived from its effect on the table. The types of its updates do not matter."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRef, SnapshotRefType
from pyiceberg.table.snapshots import Operation, Snapshot
from pyiceberg.table.update import TableUpdate

from headgate.lake.errors import InvalidMetadataError
from headgate.lake.manifests import TableFiles
from headgate.lake.snapshot_diff import ALL_EFFECTS, NOTHING, RowEffect, row_effect
from headgate.lake.table_updates import list_added_snapshots

HISTORY = frozenset(
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
"""The fields that data commits change. Any other field of the metadata, known today or not, is structure."""

_MOST_STEPS = 200_000
"""The limit of snapshots that the branches of one commit may move over, all together: more than a real table has."""
_REWRITE = frozenset({"table.insert", "table.update", "table.delete_rows"})


def required_actions(
    base: TableMetadata,
    updated: TableMetadata,
    updates: Sequence[TableUpdate],
    files: TableFiles,
    *,
    guarded: bool,
) -> frozenset[str]:
    """Return the actions that the caller needs for the commit.

    In a guarded session the statement was decided before, so only the actions of the commit's parts are needed. Any other
    client reads the files that the metadata names, so it also needs `table.select`; and for all but a plain append it needs
    every action that changes rows.
    """
    added = list_added_snapshots(updates)
    known = {snapshot.snapshot_id: snapshot for snapshot in (*base.snapshots, *added)}
    effects = _Effects(known, files, guarded=guarded)
    done = NOTHING
    for snapshot in added:
        done |= effects.of(snapshot)
    for moved in _row_effects(base, updated, effects, guarded=guarded):
        done |= moved
    appends = all(snapshot.summary and snapshot.summary.operation == Operation.APPEND for snapshot in added)
    needs = _data_needs(done, guarded=guarded, appends=appends)
    if _alters(base, updated, {snapshot.snapshot_id for snapshot in added}):
        needs |= {"table.alter"}
    if not needs or (added and not needs & _REWRITE):
        needs |= {"table.insert"}
    return needs if guarded else needs | {"table.select"}


def is_replacement(base: TableMetadata, updated: TableMetadata) -> bool:
    """Whether the main branch keeps no rows of before: it is empty, or a new snapshot without a parent."""
    main = updated.refs.get(MAIN_BRANCH)
    head = updated.snapshot_by_id(main.snapshot_id) if main else None
    return head is None or (head.parent_snapshot_id is None and base.snapshot_by_id(head.snapshot_id) is None)


def _data_needs(done: RowEffect, *, guarded: bool, appends: bool) -> frozenset[str]:
    if not guarded and (done.removes or done.rewrites or not appends):
        return _REWRITE
    adds = {"table.insert"} if done.adds else set[str]()
    return frozenset(adds | ({"table.delete_rows"} if done.removes else set[str]()))


def _alters(base: TableMetadata, updated: TableMetadata, added: AbstractSet[int]) -> bool:
    """Whether the commit changes more than rows: the structure, the history, or the set of branches and tags."""
    fields = type(updated).model_fields.keys() - HISTORY
    return (
        any(getattr(base, name, None) != getattr(updated, name) for name in fields)
        or bool(_expired(base, updated))
        or any(_alters_ref(name, before, after, added) for name, before, after in _refs(base, updated))
    )


def _alters_ref(name: str, before: SnapshotRef | None, after: SnapshotRef | None, added: AbstractSet[int]) -> bool:
    """Whether a branch or tag is created, removed, configured or moved, not only written to.

    A branch is written to if it keeps its settings and moves to a snapshot of the commit; that may also create `main`.
    """
    if before == after:
        return False
    if after is None or after.snapshot_id not in added:
        return True
    if before is None:
        return name != MAIN_BRANCH or after != SnapshotRef.model_validate(
            {"snapshot-id": after.snapshot_id, "type": SnapshotRefType.BRANCH}
        )
    is_branch = before.snapshot_ref_type == SnapshotRefType.BRANCH
    return not is_branch or before != after.model_copy(update={"snapshot_id": before.snapshot_id})


class _Effects:
    """The effects of a table's snapshots on its rows, cached: each snapshot is read once, even if several branches pass it."""

    def __init__(self, known: Mapping[int, Snapshot], files: TableFiles, *, guarded: bool) -> None:
        self._known = known
        self._guarded = guarded
        self._files = files
        self._of: dict[int, RowEffect] = {}
        self._steps = 0

    def of(self, snapshot: Snapshot) -> RowEffect:
        """Return the effect of a snapshot on its parent's rows."""
        id = snapshot.snapshot_id
        if id not in self._of:
            self._of[id] = row_effect(self._files, snapshot, self._parent(snapshot), guarded=self._guarded)
        return self._of[id]

    def find_effect_between(self, start: int | None, end: int) -> RowEffect:
        """Return the effect of moving a branch from one head to another; all effects if `start` is no ancestor of `end`."""
        done, current, seen = NOTHING, self._known.get(end), set[int]()
        while current is not None and current.snapshot_id not in seen:
            self._count_step()
            seen.add(current.snapshot_id)
            done |= self.of(current)
            if current.parent_snapshot_id == start:
                return done
            current = self._parent(current)
        return ALL_EFFECTS

    def _parent(self, snapshot: Snapshot) -> Snapshot | None:
        return None if snapshot.parent_snapshot_id is None else self._known.get(snapshot.parent_snapshot_id)

    def _count_step(self) -> None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise InvalidMetadataError(
                f"the commit moves its branches past more than {_MOST_STEPS:,} snapshots in total; move fewer branches in one "
                "commit, or move a branch in several commits"
            )


def _row_effects(
    base: TableMetadata, updated: TableMetadata, effects: _Effects, *, guarded: bool
) -> Iterator[RowEffect]:
    """Yield the effects on rows of expired snapshots and moved branches. Tags and new branches have none.

    In a guarded session, dropping a branch other than `main` has none either: the guard has required the privilege to alter.
    """
    if _expired(base, updated):
        yield RowEffect(adds=False, removes=True)
    for name, before, after in _refs(base, updated):
        if before is None:
            if after is not None and name == MAIN_BRANCH:
                yield effects.find_effect_between(None, after.snapshot_id)
        elif before.snapshot_ref_type == SnapshotRefType.BRANCH:
            if after is None:
                yield RowEffect(adds=False, removes=name == MAIN_BRANCH or not guarded)
            elif before.snapshot_id != after.snapshot_id:
                yield effects.find_effect_between(before.snapshot_id, after.snapshot_id)


def _expired(base: TableMetadata, updated: TableMetadata) -> set[int]:
    return {each.snapshot_id for each in base.snapshots} - {each.snapshot_id for each in updated.snapshots}


def _refs(base: TableMetadata, updated: TableMetadata) -> Iterator[tuple[str, SnapshotRef | None, SnapshotRef | None]]:
    for name in base.refs.keys() | updated.refs.keys():
        yield name, base.refs.get(name), updated.refs.get(name)
