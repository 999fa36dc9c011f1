"""Row lineage of tables of format version 3: each row has an id, assigned by the snapshot that adds it.

Sources: "Row Lineage" of the Iceberg specification, and `TableMetadata.Builder.addSnapshot` of Apache Iceberg.
"""

from collections.abc import Sequence
from typing import Final

from pyiceberg.table.metadata import TableMetadata, TableMetadataV3
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import AddSnapshotUpdate, TableUpdate

from headgate.lake.errors import ConflictError, InvalidMetadataError

_MOST_ROWS: Final = 1 << 40
"""The limit of rows that a snapshot may assign ids to: after the largest id no commit could follow."""


def find_next_row_id(base: TableMetadata, updates: Sequence[TableUpdate]) -> int | None:
    """Return the table's next row id after the updates; None for a table without row ids.

    Raises `ConflictError` for a snapshot whose first row id is assigned already: another commit was faster. Raises
    `InvalidMetadataError` for any other first row id than the table's next one, and for a number of rows out of range.
    """
    if not isinstance(base, TableMetadataV3):
        return None
    following = base.next_row_id or 0
    for update in updates:
        if isinstance(update, AddSnapshotUpdate):
            first, rows = _row_ids(update.snapshot)
            if first < following:
                raise ConflictError(
                    "the `first-row-id` of a new snapshot is below the table's `next-row-id`; load the table again and retry the commit"
                )
            if first > following or rows > _MOST_ROWS:
                raise InvalidMetadataError(
                    f"the new snapshot {update.snapshot.snapshot_id} assigns row ids out of range; let its `first-row-id` be "
                    f"the table's `next-row-id`, and its `added-rows` at most {_MOST_ROWS:,}"
                )
            following += rows
    return following


def require_row_lineage(metadata: TableMetadata) -> None:
    """Raise `InvalidMetadataError` for row ids that are not consistent, or that the format version does not have."""
    if not isinstance(metadata, TableMetadataV3):
        if any(each.first_row_id is not None or each.added_rows is not None for each in metadata.snapshots):
            raise InvalidMetadataError(
                f"a snapshot has a `first-row-id` or `added-rows`, which tables of format version {metadata.format_version} do "
                "not have; leave them out"
            )
        return
    following = metadata.next_row_id
    if following is None or following < 0:
        raise InvalidMetadataError("the table has no `next-row-id`, or one below 0; write a number from 0")
    for each in metadata.snapshots:
        # Snapshots from before the upgrade to format version 3 have no row ids.
        if (each.first_row_id, each.added_rows) != (None, None) and sum(_row_ids(each)) > following:
            raise InvalidMetadataError(
                f"the snapshot {each.snapshot_id} has row ids from the table's `next-row-id` on; correct one of the numbers"
            )


def _row_ids(snapshot: Snapshot) -> tuple[int, int]:
    first, rows = snapshot.first_row_id, snapshot.added_rows
    if first is None or rows is None or first < 0 or rows < 0:
        raise InvalidMetadataError(
            f"the snapshot {snapshot.snapshot_id} lacks `first-row-id` or `added-rows`, or has one below 0; tables of format "
            "version 3 need both, as numbers from 0"
        )
    return first, rows
