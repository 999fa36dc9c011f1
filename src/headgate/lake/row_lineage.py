"""Row lineage of tables of format version 3: each row has an id, assigned by the snapshot that adds it.

Sources: "Row Lineage" of the Iceberg specification, and `TableMetadata.Builder.addSnapshot` of Apache Iceberg.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from pyiceberg.table.metadata import TableMetadata, TableMetadataV3
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import TableUpdate

from headgate.lake.errors import ConflictError, InvalidMetadataError
from headgate.lake.table_updates import list_added_snapshots

_MOST_ROWS: Final = 1 << 40
"""The limit of rows that a snapshot may assign ids to: after the largest id no commit could follow."""


def find_next_row_id(base: TableMetadata, updates: Sequence[TableUpdate]) -> int | None:
    """Return the table's next row id after the updates; None for a table without row ids.

    Raises `ConflictError` for a new snapshot whose first row id is assigned already: another commit was faster. Raises
    `InvalidMetadataError` for any other first row id than the table's next one, for a number of rows out of range, and for row
    ids in a table without them.
    """
    added = list_added_snapshots(updates)
    if not isinstance(base, TableMetadataV3):
        _require_none(added, base.format_version)
        return None
    following = base.next_row_id or 0
    for snapshot in added:
        first, rows = _row_ids(snapshot)
        if first < following:
            raise ConflictError(
                "the `first-row-id` of a new snapshot is below the table's `next-row-id`; load the table again and retry the commit"
            )
        if first > following or rows > _MOST_ROWS:
            raise InvalidMetadataError(
                f"the new snapshot {snapshot.snapshot_id} assigns row ids out of range; let its `first-row-id` be "
                f"the table's `next-row-id`, and its `added-rows` at most {_MOST_ROWS:,}"
            )
        following += rows
    return following


def require_row_lineage(metadata: TableMetadata) -> None:
    """Raise `InvalidMetadataError` for row ids that Iceberg's Java library cannot read, or that later commits would assign again.

    Snapshots without a `first-row-id` have no row ids, whatever their `added-rows`; in format version 2, the others neither.
    """
    for each in metadata.snapshots:
        if each.first_row_id is not None:
            _row_ids(each)
        elif each.added_rows is not None and each.added_rows < 0:
            raise _without_rows(each)
    if isinstance(metadata, TableMetadataV3):
        _require_next_row_id(metadata)


def without_row_ids(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot of format version 2 as it is after the upgrade: row ids in it have no meaning."""
    return snapshot.model_copy(update={"first_row_id": None, "added_rows": None})


def _require_next_row_id(metadata: TableMetadataV3) -> None:
    following = metadata.next_row_id
    if following is None or following < 0:
        raise InvalidMetadataError("the table has no `next-row-id`, or one below 0; write a number from 0")
    for each in metadata.snapshots:
        if each.first_row_id is not None and sum(_row_ids(each)) > following:
            raise InvalidMetadataError(
                f"the snapshot {each.snapshot_id} has row ids from the table's `next-row-id` on; correct one of the numbers"
            )


def _require_none(snapshots: Iterable[Snapshot], version: int) -> None:
    if any(each.first_row_id is not None or each.added_rows is not None for each in snapshots):
        raise InvalidMetadataError(
            f"a new snapshot has a `first-row-id` or `added-rows`, which tables of format version {version} do not have; leave "
            "them out"
        )


def _row_ids(snapshot: Snapshot) -> tuple[int, int]:
    first, rows = snapshot.first_row_id, snapshot.added_rows
    if first is None or rows is None or first < 0 or rows < 0:
        raise _without_rows(snapshot)
    return first, rows


def _without_rows(snapshot: Snapshot) -> InvalidMetadataError:
    return InvalidMetadataError(
        f"the snapshot {snapshot.snapshot_id} lacks `first-row-id` or `added-rows`, or has one below 0; tables of format "
        "version 3 need both, as numbers from 0"
    )
