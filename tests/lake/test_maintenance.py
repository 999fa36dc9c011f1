"""Which commits are maintenance: rewritten files on the main branch, and expired snapshots; no other commit is."""

import pytest
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata, new_table_metadata
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.snapshots import Operation, Snapshot
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import (
    AddSchemaUpdate,
    AddSnapshotUpdate,
    RemoveSnapshotsUpdate,
    SetCurrentSchemaUpdate,
    SetPropertiesUpdate,
    SetSnapshotRefUpdate,
    TableUpdate,
)
from pyiceberg.types import LongType, NestedField

from headgate.lake.maintenance import is_maintenance
from headgate.lake.metadata import build_updated_metadata

FIELD = NestedField(1, "a", LongType(), required=False)


def added(id: int, parent: int | None, operation: Operation) -> AddSnapshotUpdate:
    said = {"snapshot-id": id, "parent-snapshot-id": parent, "sequence-number": id, "manifest-list": f"/t/{id}.avro"}
    summary = {"operation": operation.value}
    made = Snapshot.model_validate({**said, "timestamp-ms": 1_900_000_000_000 + id, "summary": summary})
    return AddSnapshotUpdate(snapshot=made)


def moved(id: int, ref: str = "main", type: SnapshotRefType = SnapshotRefType.BRANCH) -> SetSnapshotRefUpdate:
    return SetSnapshotRefUpdate.model_validate({"ref-name": ref, "type": type, "snapshot-id": id})


@pytest.fixture(scope="module")
def table() -> TableMetadata:
    """A table of two snapshots, the second of which is the head of the main branch."""
    empty = new_table_metadata(Schema(FIELD), UNPARTITIONED_PARTITION_SPEC, UNSORTED_SORT_ORDER, "/t", {"k": "1"})
    first = [added(1, None, Operation.APPEND), moved(1)]
    return build_updated_metadata(empty, None, [*first, added(2, 1, Operation.APPEND), moved(2)])


FORGOTTEN = RemoveSnapshotsUpdate.model_validate({"snapshot-ids": [1]})
REWRITTEN = (added(3, 2, Operation.REPLACE), moved(3))


@pytest.mark.parametrize(
    "updates", [REWRITTEN, (FORGOTTEN,), (*REWRITTEN, FORGOTTEN)], ids=("rewrite", "forget", "both")
)
def test_a_commit_that_leaves_the_rows_unchanged_is_maintenance(
    table: TableMetadata, updates: tuple[TableUpdate, ...]
) -> None:
    assert is_maintenance(table, build_updated_metadata(table, None, updates))


OTHERS: dict[str, tuple[TableUpdate, ...]] = {
    **{each.value: (added(3, 2, each), moved(3)) for each in Operation if each is not Operation.REPLACE},
    "a rewrite of an old snapshot": (added(3, 1, Operation.REPLACE), moved(3)),
    "back": (moved(1),),
    "another branch": (added(3, 2, Operation.REPLACE), moved(3, "beside")),
    "a tag": (*REWRITTEN, moved(1, "kept", SnapshotRefType.TAG)),
    "a property": (*REWRITTEN, SetPropertiesUpdate(updates={"k": "2"})),
    "a column": (
        AddSchemaUpdate(schema=Schema(FIELD, NestedField(2, "b", LongType()), schema_id=1)),
        SetCurrentSchemaUpdate.model_validate({"schema-id": -1}),
    ),
}


@pytest.mark.parametrize("what", OTHERS)
def test_a_commit_that_changes_anything_else_is_no_maintenance(table: TableMetadata, what: str) -> None:
    assert not is_maintenance(table, build_updated_metadata(table, None, OTHERS[what]))
