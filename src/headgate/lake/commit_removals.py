"""The removals of a commit, its upgrades, and the properties that it sets: applied apart from its other updates.

PyIceberg scans all snapshots, refs, statistics or properties for each such update. An object that the commit removes and
then sets again is kept. In Iceberg, removing a missing object is not an error.
"""

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    RemovePartitionSpecsUpdate,
    RemovePartitionStatisticsUpdate,
    RemovePropertiesUpdate,
    RemoveSchemasUpdate,
    RemoveSnapshotRefUpdate,
    RemoveSnapshotsUpdate,
    RemoveStatisticsUpdate,
    SetPartitionStatisticsUpdate,
    SetPropertiesUpdate,
    SetSnapshotRefUpdate,
    SetStatisticsUpdate,
    TableUpdate,
    UpgradeFormatVersionUpdate,
)

from headgate.lake.errors import InvalidMetadataError


class Removals:
    """The snapshots, refs, statistics and properties that one commit removes."""

    def __init__(self, base: TableMetadata) -> None:
        self._base = base
        self._properties = dict(base.properties)
        self._set_properties = dict[str, str]()
        self._known = {each.snapshot_id for each in base.snapshots}
        self._snapshots = set[int]()
        self._refs = set[str]()
        self._statistics = set[int]()
        self._partition_statistics = set[int]()
        self._any = False

    def list_remaining(self, updates: Iterable[TableUpdate]) -> Iterator[TableUpdate]:
        """Yield the updates that remove nothing, in order, and then combined updates for all removals and properties."""
        for update in updates:
            if not self._takes(update):
                self._keep(update)
                yield _distinct(update)
        removed = [key for key in self._base.properties if key not in self._properties]
        if self._set_properties:
            yield SetPropertiesUpdate(updates=self._set_properties)
        if removed:
            yield RemovePropertiesUpdate(removals=removed)
        if self._any:
            # Makes PyIceberg record the former metadata file, even if no other update is left.
            yield RemoveSnapshotsUpdate.model_validate({"snapshot-ids": []})

    def apply(self, metadata: TableMetadata) -> TableMetadata:
        """Return the metadata after the removals."""
        if not (self._snapshots or self._refs or self._statistics or self._partition_statistics):
            return metadata
        gone = self._snapshots
        without_statistics = gone | self._statistics
        refs = {
            name: ref for name, ref in metadata.refs.items() if name not in self._refs and ref.snapshot_id not in gone
        }
        main_is_gone = MAIN_BRANCH in metadata.refs and MAIN_BRANCH not in refs
        changed: dict[str, Any] = {
            "refs": refs,
            "current_snapshot_id": None if main_is_gone else metadata.current_snapshot_id,
            "snapshots": [_orphan(each, gone) for each in metadata.snapshots if each.snapshot_id not in gone],
            "snapshot_log": [each for each in metadata.snapshot_log if each.snapshot_id not in gone],
            "statistics": [each for each in metadata.statistics if each.snapshot_id not in without_statistics],
            "partition_statistics": [
                each for each in metadata.partition_statistics if each.snapshot_id not in self._partition_statistics
            ],
        }
        return metadata.model_copy(update=changed)

    def _takes(self, update: TableUpdate) -> bool:
        """Record a removal, an upgrade, or properties that are set; return whether the update was one of these."""
        match update:
            case SetPropertiesUpdate():
                self._properties |= update.updates
                self._set_properties |= update.updates
            case RemovePropertiesUpdate():
                for key in update.removals:
                    self._properties.pop(key, None)
                    self._set_properties.pop(key, None)
            case RemoveSnapshotsUpdate():
                self._remove_snapshots(update.snapshot_ids)
            case UpgradeFormatVersionUpdate():
                pass  # applied before all other updates
            case RemoveSnapshotRefUpdate():
                self._refs.add(update.ref_name)
            case RemoveStatisticsUpdate():
                self._statistics.add(update.snapshot_id)
            case RemovePartitionStatisticsUpdate():
                self._partition_statistics.add(update.snapshot_id)
            case _:
                return False
        self._any = True
        return True

    def _remove_snapshots(self, ids: Iterable[int]) -> None:
        gone = set(ids)
        missing = gone - self._known
        if missing:
            raise InvalidMetadataError(
                f"the snapshot {min(missing)} cannot be removed, because the table does not have it; load the table again, and remove only snapshots that it has"
            )
        self._known -= gone
        self._snapshots |= gone

    def _keep(self, update: TableUpdate) -> None:
        """Cancel the removal of an object that an update sets again.

        Raises `InvalidMetadataError` for a ref to a snapshot that the commit removes.
        """
        match update:
            case AddSnapshotUpdate():
                self._known.add(update.snapshot.snapshot_id)
            case SetSnapshotRefUpdate():
                if update.snapshot_id in self._snapshots:
                    raise InvalidMetadataError(
                        f"the branch or tag `{update.ref_name}` is set to a snapshot that the commit removes; set it to "
                        "another snapshot"
                    )
                self._refs.discard(update.ref_name)
            case SetStatisticsUpdate():
                self._statistics.discard(update.statistics.snapshot_id)
            case SetPartitionStatisticsUpdate():
                self._partition_statistics.discard(update.partition_statistics.snapshot_id)
            case _:
                pass


def _distinct(update: TableUpdate) -> TableUpdate:
    """Return the update without repeated ids: PyIceberg searches all objects for each id."""
    match update:
        case RemoveSchemasUpdate():
            return update.model_copy(update={"schema_ids": list(dict.fromkeys(update.schema_ids))})
        case RemovePartitionSpecsUpdate():
            return update.model_copy(update={"spec_ids": list(dict.fromkeys(update.spec_ids))})
        case _:
            return update


def _orphan(snapshot: Snapshot, gone: AbstractSet[int]) -> Snapshot:
    if snapshot.parent_snapshot_id not in gone:
        return snapshot
    return snapshot.model_copy(update={"parent_snapshot_id": None})
