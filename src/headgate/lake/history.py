"""A table's snapshots, refs and logs, as Iceberg's Java library asks them to agree with each other.

Source: the constructor of `TableMetadata` of Apache Iceberg.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import Final, TypeVar

from pyiceberg.table.metadata import TableMetadata, TableMetadataV1
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import MetadataLogEntry, Snapshot, SnapshotLogEntry

from headgate.lake.errors import InvalidError

E = TypeVar("E", SnapshotLogEntry, MetadataLogEntry)
_MINUTE_MS: Final = 60_000
"""The tolerated clock difference between machines."""
_HALF: Final = 1 << 63


def in_order(base: TableMetadata | None, metadata: TableMetadata) -> TableMetadata:
    """Return the metadata with times that do not go back, as clients' clocks do: Java asks for that.

    What became current at a commit did so after what was current before it, whatever time its snapshot has.
    """
    snapshots, files = _in_order(metadata.snapshot_log), _in_order(metadata.metadata_log)
    times = [each.timestamp_ms for each in (*snapshots[-1:], *files[-1:])]
    latest = max(metadata.last_updated_ms, *times, base.last_updated_ms if base else 0)
    changed = {"snapshot_log": snapshots, "metadata_log": files, "last_updated_ms": latest}
    return metadata.model_copy(update=changed)


def require_history(metadata: TableMetadata) -> None:
    """Raise `InvalidError` for snapshots, refs and logs that Java does not read together."""
    for snapshot in metadata.snapshots:
        _require_snapshot(snapshot, metadata)
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


def _require_snapshot(snapshot: Snapshot, metadata: TableMetadata) -> None:
    number = snapshot.sequence_number or 0
    if not isinstance(metadata, TableMetadataV1) and number > metadata.last_sequence_number:
        raise InvalidError("a snapshot has a sequence number above the table's last one")
    summary = snapshot.summary.additional_properties if snapshot.summary else {}
    for key, value in summary.items():
        # PyIceberg does not look at them.
        if not isinstance(value, str):
            raise InvalidError(f"`{key}` in the summary of a snapshot is no text; write it as one")


def _require_refs(metadata: TableMetadata) -> None:
    known = {each.snapshot_id for each in metadata.snapshots}
    for name, ref in metadata.refs.items():
        if ref.snapshot_id not in known:
            raise InvalidError(f"the ref `{name}` names a snapshot that the table does not have")
    main = metadata.refs.get(MAIN_BRANCH)
    # The id -1 says in a metadata file that there is no current snapshot.
    if (main.snapshot_id if main else None) != metadata.current_snapshot_id:
        raise InvalidError("the current snapshot is not that of the branch `main`; no snapshot can have the id -1")


def _require_times(times: Iterable[int]) -> None:
    """Raise `InvalidError` for times that go back, or so far ahead that their difference does."""
    for earlier, later in pairwise(times):
        # Java's numbers of 64 bits wrap around.
        if (later - earlier + _HALF) % (2 * _HALF) - _HALF < -_MINUTE_MS:
            raise InvalidError("a time in a log of the table is after the next one, or too far before it")
