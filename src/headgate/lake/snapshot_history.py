"""Consistency of a table's snapshots, refs and logs, as Iceberg's Java library requires it.

Source: the constructor of `TableMetadata` of Apache Iceberg.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, TypeVar

from pyiceberg.table.metadata import TableMetadata, TableMetadataV1
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import MetadataLogEntry, Snapshot, SnapshotLogEntry
from pyiceberg.table.update import TableUpdate

from headgate.lake.errors import InvalidMetadataError
from headgate.lake.row_lineage import require_row_lineage
from headgate.lake.table_updates import list_added_snapshots

E = TypeVar("E", SnapshotLogEntry, MetadataLogEntry)
_MINUTE_MS: Final = 60_000
"""The tolerated clock difference between machines."""
_DAY_MS: Final = 86_400_000
"""The maximum age of a snapshot when it is committed: expiry of snapshots goes by their times."""
_HALF: Final = 1 << 63


def in_order(base: TableMetadata | None, metadata: TableMetadata) -> TableMetadata:
    """Return the metadata with times that never decrease, which Java requires and clients' clocks do not guarantee.

    A snapshot became current after the one before it, even if its own time is earlier.
    """
    snapshots, files = _in_order(metadata.snapshot_log), _in_order(metadata.metadata_log)
    times = [each.timestamp_ms for each in (*snapshots[-1:], *files[-1:])]
    latest = max(metadata.last_updated_ms, *times, base.last_updated_ms if base else 0)
    changed = {"snapshot_log": snapshots, "metadata_log": files, "last_updated_ms": latest}
    return metadata.model_copy(update=changed)


def check_new_snapshots(metadata: TableMetadata, updates: Sequence[TableUpdate], now: float) -> None:
    """Raise `InvalidMetadataError` for an added snapshot whose time is not close to `now`, or whose schema is missing.

    `now` is in seconds since the epoch. No engine appends after a snapshot of the future, and expiry goes by these times.
    """
    schemas = {each.schema_id for each in metadata.schemas}
    for snapshot in list_added_snapshots(updates):
        _check_time(snapshot, int(now * 1000))
        schema = snapshot.schema_id
        if schema is not None and schema not in schemas:
            raise InvalidMetadataError(
                f"the new snapshot {snapshot.snapshot_id} has the `schema-id` {schema}, which the table does not have; add that schema first"
            )


def require_history(metadata: TableMetadata) -> None:
    """Raise `InvalidMetadataError` for snapshots, refs and logs that are not consistent for Iceberg's Java library."""
    for snapshot in metadata.snapshots:
        _require_snapshot(snapshot, metadata)
    require_row_lineage(metadata)
    _require_refs(metadata)
    for log in (metadata.snapshot_log, metadata.metadata_log):
        _require_times([*(each.timestamp_ms for each in log), metadata.last_updated_ms])


def _in_order(log: Iterable[E]) -> list[E]:
    entries = list(log)
    for position in range(1, len(entries)):
        earlier = entries[position - 1].timestamp_ms
        if entries[position].timestamp_ms < earlier:
            entries[position] = entries[position].model_copy(update={"timestamp_ms": earlier})
    return entries


def _check_time(snapshot: Snapshot, now: int) -> None:
    if snapshot.timestamp_ms > now + _MINUTE_MS:
        raise InvalidMetadataError(
            f"the `timestamp-ms` of the new snapshot {snapshot.snapshot_id} is in the future; correct the clock of the machine that wrote the snapshot"
        )
    if snapshot.timestamp_ms < now - _DAY_MS:
        raise InvalidMetadataError(
            f"the `timestamp-ms` of the new snapshot {snapshot.snapshot_id} is more than a day ago; correct the clock of the machine that wrote the snapshot, or repeat the write"
        )


def _require_snapshot(snapshot: Snapshot, metadata: TableMetadata) -> None:
    number = snapshot.sequence_number or 0
    if not isinstance(metadata, TableMetadataV1) and number > metadata.last_sequence_number:
        raise InvalidMetadataError(
            f"the snapshot {snapshot.snapshot_id} has a `sequence-number` above the table's `last-sequence-number`; correct one of the two numbers"
        )
    summary = snapshot.summary.additional_properties if snapshot.summary else {}
    for key, value in summary.items():
        # PyIceberg does not check the values.
        if not isinstance(value, str):
            raise InvalidMetadataError(
                f"`{key}` in the summary of the snapshot {snapshot.snapshot_id} is not a string; write it as a string"
            )


def _require_refs(metadata: TableMetadata) -> None:
    known = {each.snapshot_id for each in metadata.snapshots}
    for name, ref in metadata.refs.items():
        if ref.snapshot_id not in known:
            raise InvalidMetadataError(
                f"the branch or tag `{name}` names a snapshot that the table does not have; name one of the table's snapshots"
            )
    main = metadata.refs.get(MAIN_BRANCH)
    # In a metadata file, the id -1 means that there is no current snapshot.
    if (main.snapshot_id if main else None) != metadata.current_snapshot_id:
        raise InvalidMetadataError(
            "the current snapshot is not the snapshot of the branch `main`; let `current-snapshot-id` and the ref `main` name the same snapshot, whose id is not -1"
        )


def _require_times(times: Iterable[int]) -> None:
    """Raise `InvalidMetadataError` for times that decrease, or increase by more than Java's 64-bit numbers can represent."""
    for earlier, later in pairwise(times):
        # Java's 64-bit numbers wrap around.
        if (later - earlier + _HALF) % (2 * _HALF) - _HALF < -_MINUTE_MS:
            raise InvalidMetadataError(
                "an entry of `snapshot-log` or `metadata-log` of the table is more than one minute newer than the next entry or than `last-updated-ms`; sort the entries by their `timestamp-ms`, and let `last-updated-ms` be the newest time"
            )
