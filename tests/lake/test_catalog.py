"""Tables as files and pointers, without an HTTP endpoint."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyiceberg.schema import Schema
from pyiceberg.table.update import SetPropertiesUpdate
from pyiceberg.types import LongType, NestedField

from headgate.control.kernel.ports import Head, LogWrite
from headgate.control.organizations.commands import ORGANIZATION
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.lake import metadata_files
from headgate.lake.catalog import TableCatalog
from headgate.lake.errors import ConflictError, InvalidMetadataError, LakeError, MissingMetadataError, RuleError
from headgate.lake.metadata import NewTable
from headgate.lake.metadata_files import MAX_VALUES, LoadedTable
from headgate.lake.staged_creates import MOST_PER_PRINCIPAL, Staged, StagedCreates
from headgate.lake.warehouse import FileWarehouse
from tests.fakes.store import FakeStore
from tests.lake.file_parsers import PARSERS

NEW = NewTable(Schema(NestedField(1, "a", LongType())))
DATABASE = ResourceId("d1")
ANN = PrincipalId("ann")


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()


@pytest.fixture
def catalog(store: FakeStore, tmp_path: Path) -> TableCatalog:
    return TableCatalog(store, FileWarehouse(tmp_path, ORGANIZATION), PARSERS, ORGANIZATION, time.time)


@pytest.fixture
def table(store: FakeStore, catalog: TableCatalog) -> LoadedTable:
    created = catalog.create(NEW, DATABASE)
    store.append(store.head(), LogWrite(0.0, None, "create", (), pointers=(created.pointer,)))
    return created


def test_a_table_can_be_loaded_once_its_pointer_is_stored(store: FakeStore, catalog: TableCatalog) -> None:
    created = catalog.create(NEW, DATABASE)
    with pytest.raises(MissingMetadataError):
        catalog.load(created.pointer.table)

    store.append(Head(), LogWrite(0.0, None, "create", (), pointers=(created.pointer,)))

    assert catalog.load(created.pointer.table) == created


def test_the_second_of_two_commits_on_one_base_conflicts_and_leaves_no_file(
    catalog: TableCatalog, table: LoadedTable, tmp_path: Path
) -> None:
    prepared = [catalog.prepare(table, (), (), guarded=True) for _ in range(2)]
    (first,) = catalog.commit(prepared[:1], lambda: None)

    with pytest.raises(ConflictError):
        catalog.commit(prepared[1:], lambda: None)

    assert catalog.load(table.pointer.table).pointer == first.pointer
    assert len(list(tmp_path.rglob("*.metadata.json"))) == 2


def test_an_empty_commit_needs_the_insert_privilege(catalog: TableCatalog, table: LoadedTable) -> None:
    assert catalog.prepare(table, (), (), guarded=True).needs == {"table.insert"}
    assert catalog.prepare(table, (), (), guarded=False).needs == {"table.insert", "table.select"}


FORGERIES: dict[str, tuple[Callable[[dict[str, object]], object], type[LakeError]]] = {
    "another uuid": (lambda m: m.update({"table-uuid": "00000000-0000-0000-0000-000000000000"}), RuleError),
    "another location": (lambda m: m.update({"location": "file:///etc"}), RuleError),
    "a location property": (lambda m: m.update({"properties": {"write.data.path": "/x"}}), RuleError),
    "a manifest list elsewhere": (
        lambda m: m.update({"snapshots": [{"snapshot-id": 1, "timestamp-ms": 1, "manifest-list": "/etc/x"}]}),
        RuleError,
    ),
    "no schema": (lambda m: m.pop("schemas"), InvalidMetadataError),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_metadata_file_is_not_returned(catalog: TableCatalog, table: LoadedTable, name: str) -> None:
    change, expected = FORGERIES[name]
    file = Path(table.pointer.metadata_location.removeprefix("file://"))
    metadata = json.loads(file.read_text())
    change(metadata)
    file.write_text(json.dumps(metadata))

    with pytest.raises(expected):
        catalog.load(table.pointer.table)


@pytest.mark.parametrize(
    "content",
    [b"[" * 1_000_000, b'{"a":' * 1_000_000, b"[" + b"0," * (MAX_VALUES + 1) + b"0]", b"9" * 1_000_000, b"\xff"],
    ids=["arrays", "objects", "values", "a number", "no text"],
)
def test_a_metadata_file_above_the_limits_is_not_read(
    catalog: TableCatalog, table: LoadedTable, content: bytes
) -> None:
    Path(table.pointer.metadata_location.removeprefix("file://")).write_bytes(content)

    with pytest.raises(InvalidMetadataError):
        catalog.load(table.pointer.table)


def test_a_commit_writes_no_metadata_that_cannot_be_read_back(
    catalog: TableCatalog, table: LoadedTable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(metadata_files, "MAX_VALUES", 200)
    change = SetPropertiesUpdate(updates={f"p{number}": "" for number in range(200)})
    prepared = catalog.prepare(table, (), [change], guarded=True)

    with pytest.raises(InvalidMetadataError, match="expire snapshots"):
        catalog.commit([prepared], lambda: None)

    assert len(list(tmp_path.rglob("*.metadata.json"))) == 1


def test_staged_creates_are_bounded_and_belong_to_their_owner() -> None:
    staged = StagedCreates()
    mine, yours = PrincipalId("me"), PrincipalId("you")
    ids = [ResourceId(str(number)) for number in range(MOST_PER_PRINCIPAL + 1)]
    staged.put(yours, Staged(DATABASE, "t", ids[0], "file:///w"))
    for id in ids:
        staged.put(mine, Staged(DATABASE, "t", id, "file:///w"))

    assert staged.get(mine, ids[0]) is None
    assert staged.get(mine, ids[1]) is not None
    assert staged.get(yours, ids[0]) is not None
    assert staged.get(yours, ids[1]) is None
    staged.drop(mine, ids[1])
    assert staged.get(mine, ids[1]) is None
