"""The removals of a commit are applied together, with the same result as PyIceberg's one by one."""

from typing import Any, Final

import pytest
from pydantic import TypeAdapter
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import TableUpdate, update_table_metadata
from pyiceberg.types import LongType, NestedField

from headgate.facts.ids import ResourceId
from headgate.lake.errors import InvalidMetadataError
from headgate.lake.metadata import NewTable, build_updated_metadata, new_metadata
from tests.profiler import calls_during

LOCATION: Final = "file:///w/organization/d/t"
PATH: Final = f"{LOCATION}/metadata/00000-x.metadata.json"
ID: Final = ResourceId("5a3e0f0b-4d0f-4c57-b1b1-0a9c3c0f8a11")
UPDATES: Final[TypeAdapter[tuple[TableUpdate, ...]]] = TypeAdapter(tuple[TableUpdate, ...])
SCHEMA: Final = Schema(NestedField(1, "n", LongType()))
COMPARED: Final = ("snapshots", "refs", "current_snapshot_id", "statistics", "partition_statistics", "properties")

Update = dict[str, Any]


def _snapshot(id: int) -> Update:
    parent = {"parent-snapshot-id": id - 1} if id > 1 else {}
    summary = {"operation": "append"}
    return {
        "action": "add-snapshot",
        "snapshot": {"snapshot-id": id, "sequence-number": id, "timestamp-ms": 1795500000000 + id, "schema-id": 0,
                     "manifest-list": f"{LOCATION}/metadata/snap-{id}.avro", "summary": summary, **parent},
    }  # fmt: skip


def _ref(name: str, snapshot: int) -> Update:
    return {"action": "set-snapshot-ref", "ref-name": name, "type": "branch", "snapshot-id": snapshot}


def _statistics(snapshot: int) -> Update:
    size = {"snapshot-id": snapshot, "statistics-path": f"{LOCATION}/metadata/s", "file-size-in-bytes": 9}
    return {"action": "set-statistics", "statistics": {**size, "file-footer-size-in-bytes": 4, "blob-metadata": []}}


def _partition_statistics(snapshot: int) -> Update:
    size = {"snapshot-id": snapshot, "statistics-path": f"{LOCATION}/metadata/p", "file-size-in-bytes": 9}
    return {"action": "set-partition-statistics", "partition-statistics": size}


def _set(**properties: str) -> Update:
    return {"action": "set-properties", "updates": properties}


def _unset(*keys: str) -> Update:
    return {"action": "remove-properties", "removals": keys}


def _expire(*snapshots: int) -> Update:
    return {"action": "remove-snapshots", "snapshot-ids": snapshots}


def _drop(ref: str) -> Update:
    return {"action": "remove-snapshot-ref", "ref-name": ref}


def _changed(base: TableMetadata, *updates: Update) -> TableMetadata:
    return build_updated_metadata(base, PATH, UPDATES.validate_python(updates))


@pytest.fixture(scope="module")
def base() -> TableMetadata:
    """A table with four snapshots, two branches, statistics and properties."""
    made = new_metadata(NewTable(SCHEMA, properties={"comment": "x", "a": "1"}), ID, LOCATION)
    return _changed(
        made, *map(_snapshot, range(1, 5)), _ref("main", 4), _ref("old", 2), _statistics(2), _partition_statistics(4)
    )


@pytest.mark.parametrize(
    "updates",
    [
        [_expire(1)],
        [_expire(1, 3)],
        [_expire(1), _expire(3)],
        [_expire(2)],
        [_expire(4)],
        [_drop("old"), _expire(1, 2, 3)],
        [_drop("main")],
        [_drop("main"), _snapshot(5), _ref("main", 5)],
        [_drop("old"), _ref("old", 3)],
        [_ref("old", 3), _expire(3)],
        [_snapshot(5), _ref("main", 5), _expire(4, 1)],
        [{"action": "remove-statistics", "snapshot-id": 2}],
        [{"action": "remove-partition-statistics", "snapshot-id": 4}],
        [{"action": "remove-statistics", "snapshot-id": 2}, _statistics(2)],
        [{"action": "remove-partition-statistics", "snapshot-id": 4}, _partition_statistics(4)],
        [_set(b="2"), _unset("a")],
        [_unset("a"), _set(a="3", b="2")],
        [_set(b="2"), _set(b="3"), _unset("b")],
        [_set(comment="x")],
    ],
    ids=str,
)
def test_removals_give_the_same_metadata_as_pyiceberg(base: TableMetadata, updates: list[Update]) -> None:
    expected = update_table_metadata(base, UPDATES.validate_python(updates), metadata_location=PATH)

    changed = _changed(base, *updates)

    for field in COMPARED:
        assert getattr(changed, field) == getattr(expected, field), field
    assert {each.snapshot_id for each in changed.snapshot_log} == {each.snapshot_id for each in expected.snapshot_log}
    assert [each.metadata_file for each in changed.metadata_log] == [
        each.metadata_file for each in expected.metadata_log
    ]


@pytest.mark.parametrize("removal", [_drop("nothing"), {"action": "remove-statistics", "snapshot-id": 9}, _unset("z")])
def test_a_removal_of_a_missing_object_changes_nothing(base: TableMetadata, removal: Update) -> None:
    changed = _changed(base, removal)

    assert all(getattr(changed, field) == getattr(base, field) for field in COMPARED)


def test_statistics_may_be_removed_after_their_snapshot(base: TableMetadata) -> None:
    changed = _changed(base, _expire(2), {"action": "remove-statistics", "snapshot-id": 2})

    assert changed.statistics == []


@pytest.mark.parametrize("updates", [[_expire(9)], [_expire(1), _expire(1)]])
def test_a_snapshot_that_the_table_does_not_have_cannot_be_removed(base: TableMetadata, updates: list[Update]) -> None:
    with pytest.raises(InvalidMetadataError, match="cannot be removed, because the table does not have it"):
        _changed(base, *updates)


def test_a_ref_cannot_name_a_snapshot_that_the_commit_removes(base: TableMetadata) -> None:
    with pytest.raises(
        InvalidMetadataError, match="the branch or tag `new` is set to a snapshot that the commit removes"
    ):
        _changed(base, _expire(3), _ref("new", 3))


def _expire_all_but_one(snapshots: int) -> int:
    """Expire each snapshot but the last one by an update of its own; return the number of function calls."""
    table = new_metadata(NewTable(SCHEMA), ID, LOCATION)
    for first in range(1, snapshots + 1, 750):
        table = _changed(table, *map(_snapshot, range(first, first + 750)))
    table = _changed(table, _ref("main", snapshots))
    changed = list[TableMetadata]()

    calls = calls_during(lambda: changed.append(_changed(table, *map(_expire, range(1, snapshots)))))

    assert [each.snapshot_id for each in changed[0].snapshots] == [snapshots]
    return calls


def test_the_work_of_expiring_snapshots_is_proportional_to_their_number() -> None:
    assert _expire_all_but_one(3000) < 5 * _expire_all_but_one(750)
