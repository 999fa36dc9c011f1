"""Queries of the updates of a commit to a table."""

from collections.abc import Iterable, Sequence

from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import AddSnapshotUpdate, AssignUUIDUpdate, TableUpdate

from headgate.facts.ids import ResourceId


def list_added_snapshots(updates: Iterable[TableUpdate]) -> Sequence[Snapshot]:
    """Return the snapshots that the updates add, in their order."""
    return [update.snapshot for update in updates if isinstance(update, AddSnapshotUpdate)]


def find_assigned_uuid(updates: Iterable[TableUpdate]) -> ResourceId | None:
    """Return the one uuid that the updates assign; None if they assign none or several."""
    ids = {str(update.uuid) for update in updates if isinstance(update, AssignUUIDUpdate)}
    return ResourceId(ids.pop()) if len(ids) == 1 else None
