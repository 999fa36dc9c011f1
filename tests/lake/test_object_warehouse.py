"""A warehouse in an object store, through a FileIO that is configured in PyIceberg like any other."""

import time
from pathlib import Path

import pytest
from pyiceberg.schema import Schema
from pyiceberg.table.update import SetPropertiesUpdate
from pyiceberg.types import LongType, NestedField

from headgate.control.kernel.ports import Head, LogWrite
from headgate.control.organizations.commands import ORGANIZATION
from headgate.facts.ids import ResourceId
from headgate.lake.catalog import TableCatalog
from headgate.lake.containment import is_inside, overlap
from headgate.lake.errors import InvalidMetadataError, RuleError
from headgate.lake.metadata import NewTable
from headgate.lake.object_warehouse import ObjectWarehouse
from headgate.lake.warehouse import MAX_FILE_BYTES
from tests.fakes.objects import OBJECTS
from tests.fakes.store import FakeStore
from tests.lake.file_parsers import PARSERS

NEW = NewTable(Schema(NestedField(1, "a", LongType())))
DATABASE = ResourceId("d1")
ROOT = "s3://bucket/lake"


@pytest.fixture
def warehouse() -> ObjectWarehouse:
    OBJECTS.clear()
    return ObjectWarehouse(f"{ROOT}/", {"py-io-impl": "tests.fakes.objects.ObjectsIO"}, ORGANIZATION)


def test_a_table_can_be_created_committed_to_and_purged(warehouse: ObjectWarehouse) -> None:
    store = FakeStore()
    catalog = TableCatalog(store, warehouse, PARSERS, ORGANIZATION, time.time)
    created = catalog.create(NEW, DATABASE)
    store.append(Head(), LogWrite(0.0, None, "create", (), pointers=(created.pointer,)))

    change = SetPropertiesUpdate(updates={"a": "1"})
    catalog.commit([catalog.prepare(created, (), [change], guarded=True)], lambda: None)
    loaded = catalog.load(created.pointer.table)

    assert loaded.metadata.location == f"{ROOT}/organization/d1/{created.pointer.table}"
    assert len(OBJECTS) == 2
    OBJECTS[f"{ROOT}/organization/d1/other/metadata/0.metadata.json"] = b""
    catalog.check_purge(loaded)
    catalog.purge(loaded)
    assert list(OBJECTS) == [f"{ROOT}/organization/d1/other/metadata/0.metadata.json"]


def test_a_file_above_the_size_limit_is_not_read(warehouse: ObjectWarehouse) -> None:
    location = warehouse.location(DATABASE, ResourceId("t1"))
    OBJECTS[f"{location}/metadata/x"] = bytes(MAX_FILE_BYTES + 1)

    with pytest.raises(InvalidMetadataError, match="larger than 64 MiB"):
        warehouse.read(location, f"{location}/metadata/x")


def test_files_of_another_table_cannot_be_read_written_or_removed(warehouse: ObjectWarehouse) -> None:
    mine, theirs = warehouse.location(DATABASE, ResourceId("t1")), warehouse.location(DATABASE, ResourceId("t10"))
    path = f"{theirs}/metadata/0.json"
    warehouse.write_new(theirs, path, b"one")

    for outside in (
        path,
        f"{mine}/../t10/metadata/0.json",
        f"{mine}//metadata/0.json",
        "s3://other/lake/d1/t1/a",
        mine,
    ):
        with pytest.raises(RuleError):
            warehouse.read(mine, outside)
        with pytest.raises(RuleError):
            warehouse.write_new(mine, outside, b"")
        with pytest.raises(RuleError):
            warehouse.remove(mine, outside)
    with pytest.raises(FileExistsError):
        warehouse.write_new(theirs, path, b"two")
    with pytest.raises(InvalidMetadataError):
        warehouse.read(theirs, f"{theirs}/absent")
    assert OBJECTS.keys() == {path}


@pytest.mark.parametrize(
    "location",
    [
        ROOT,
        f"{ROOT}/organization/d1",
        f"{ROOT}/organization/d1/t10",
        f"{ROOT}/organization/d1/t1/data",
        f"{ROOT}/d1/t1",
        f"{ROOT}/globex/d1/t1",
        "s3://other/d1/t1",
    ],
)
def test_a_purge_of_any_other_location_is_refused(warehouse: ObjectWarehouse, location: str) -> None:
    with pytest.raises(RuleError):
        warehouse.purge(location, ResourceId("t1"), iter(()))


def test_locations_of_one_bucket_match_across_schemes_and_two_buckets_do_not(tmp_path: Path) -> None:
    assert is_inside("s3://b/t", "s3a://b/t/x")
    assert not is_inside("s3://b/t", "s3://c/t/x")
    assert not is_inside("s3://b/t", f"{tmp_path}/t/x")
    assert not is_inside("s3://b/t", "s3://b/t/%2e%2e/x")
    assert not is_inside("s3://b/t", "s3://b/t/a?x")
    assert overlap("s3://b/t", "s3n://b/t/x")
    assert overlap("s3://b/t/x", "s3://b/t")
    assert not overlap("s3://b/t", "s3://b/t0")
