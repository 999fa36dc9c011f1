"""Hostile manifests of a table of format version 1: no delete files, no sequence numbers, and nothing is decided from missing counts."""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx
import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from tests.avro_files import ENTRY, FILE, LIST, avro, field, file_values, listed, number, record, text
from tests.lake.catalog_harness import CatalogHarness, served

SCHEMA = Schema(NestedField(1, "d", LongType()))
V1 = {"format-version": "1"}
LIST_V1 = record(*(each for each in LIST["fields"] if each["field-id"] not in (515, 516, 517)))
LIST_WITH_NUMBERS = record(
    *LIST_V1["fields"], *(field(id, f"f{id}", "long") for id in (515, 516)), field(517, "content", "int")
)
WITHOUT_COUNTS = record(*(each for each in LIST_V1["fields"] if each["field-id"] <= 503))
DATA_V1 = record(
    field(0, "status", "int"),
    field(2, "data_file", record(*(field(id, str(id), type) for id, type in FILE.items() if id != 134))),
)
"""The schema of a manifest of version 1, whose files have no content."""
SEQUENCES = record(*ENTRY["fields"], field(3, "sequence_number", ["null", "long"]), field(4, "file_sequence_number", ["null", "long"]))  # fmt: skip
FIRST, SECOND = 7, 8


def _listed_v1(path: str, rows: int = 2) -> bytes:
    return text(path) + b"".join(map(number, (1000, 0, FIRST, 1, 0, 0, rows, 0, 0)))


def _optional(value: int | None) -> bytes:
    return number(0) if value is None else number(1) + number(value)


class Table:
    """A table of a served catalog, in version 1; `ann` may insert, `bob` may also update and delete."""

    def __init__(self, world: CatalogHarness, name: str) -> None:
        self.world = world
        self.name = name
        self.location = world.iceberg().create_table(f"raw.{name}", SCHEMA, properties=V1).location()
        place = ("lake", "raw", name)
        world.rights.allow("ann", place, "table.select", "table.insert")
        world.rights.allow("bob", place, "table.select", "table.insert", "table.update", "table.delete_rows")

    @property
    def data(self) -> str:
        return f"{self.location}/data/a.parquet"

    def put(self, name: str, content: bytes) -> str:
        """Write a file into the folder `metadata`, like a user who can write there."""
        path = f"{self.location}/metadata/{name}"
        Path(path.removeprefix("file://")).write_bytes(content)
        return path

    def manifest(self, name: str = "m.avro", path: str | None = None) -> str:
        values = text(path or self.data) + text("PARQUET") + number(2) + number(900)
        return self.put(name, avro(DATA_V1, 1, number(1) + values))

    def list(self, *manifests: str, name: str = "list.avro", rows: int = 2) -> str:
        return self.put(name, avro(LIST_V1, len(manifests), b"".join(_listed_v1(each, rows) for each in manifests)))

    def list_without_counts(self, *manifests: str, name: str = "list.avro") -> str:
        entries = b"".join(text(each) + b"".join(map(number, (1000, 0, FIRST))) for each in manifests)
        return self.put(name, avro(WITHOUT_COUNTS, len(manifests), entries))

    def commit(
        self, manifest_list: str, said: Mapping[str, Any] = MappingProxyType({}), by: str = "ann"
    ) -> httpx.Response:
        """Commit a snapshot as the head of the main branch."""
        snapshot = {
            "snapshot-id": FIRST,
            "timestamp-ms": int(time.time() * 1000),
            "manifest-list": manifest_list,
            "summary": {"operation": "append"},
            **said,
        }
        id = snapshot["snapshot-id"]
        moved = {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": id}
        return self.update({"action": "add-snapshot", "snapshot": snapshot}, moved, by=by)

    def second(self, manifest_list: str, by: str = "ann", **said: Any) -> httpx.Response:
        more = {key.replace("_", "-"): value for key, value in said.items()}
        return self.commit(manifest_list, {"snapshot-id": SECOND, "parent-snapshot-id": FIRST, **more}, by)

    def update(self, *updates: Mapping[str, Any], by: str = "admin") -> httpx.Response:
        return self.world.commit(self.name, *updates, by=by)

    def metadata(self) -> dict[str, Any]:
        return self.world.metadata(self.name)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CatalogHarness]:
    with served(tmp_path_factory.mktemp("v1")) as made:
        made.iceberg().create_namespace("raw")
        yield made


@pytest.fixture
def table(world: CatalogHarness) -> Table:
    return Table(world, f"t{time.monotonic_ns()}")


@pytest.fixture
def filled(table: Table) -> Table:
    """The table with one snapshot, of one file of two rows."""
    answer = table.commit(table.list(table.manifest()))
    assert answer.status_code == 200, answer.text
    return table


def test_an_append_of_version_1_needs_the_privilege_to_insert_only(filled: Table) -> None:
    answer = filled.second(filled.list(f"{filled.location}/metadata/m.avro", filled.manifest("n.avro"), name="l2.avro"))

    assert answer.status_code == 200, answer.text
    metadata = filled.metadata()
    assert (metadata["format-version"], len(metadata["snapshots"])) == (1, 2)
    assert not any("sequence-number" in each for each in metadata["snapshots"])


def test_an_append_that_removes_the_parents_files_needs_the_privileges_to_change_rows(filled: Table) -> None:
    path = filled.list(filled.manifest("n.avro", f"{filled.location}/data/b.parquet"), name="l2.avro")

    assert filled.second(path).status_code == 403
    assert filled.second(path, "bob").status_code == 200


def test_an_append_to_another_snapshot_than_the_head_needs_the_privileges_to_change_rows(filled: Table) -> None:
    kept = f"{filled.location}/metadata/m.avro"
    assert filled.second(filled.list(kept, filled.manifest("n.avro"), name="l2.avro")).status_code == 200
    late = filled.list(kept, filled.manifest("o.avro"), name="l3.avro")

    assert filled.second(late, snapshot_id=9).status_code == 403
    assert filled.second(late, "bob", snapshot_id=9).status_code == 200


def test_the_sequence_number_0_and_the_content_data_are_those_of_version_1(table: Table) -> None:
    zeros = number(0) * 3
    manifest = table.put(
        "m.avro", avro(SEQUENCES, 1, number(1) + file_values(table.data) + _optional(0) + _optional(None))
    )

    answer = table.commit(table.put("list.avro", avro(LIST_WITH_NUMBERS, 1, _listed_v1(manifest) + zeros)))

    assert answer.status_code == 200, answer.text
    assert table.second(table.list(manifest, name="l2.avro")).status_code == 200


@pytest.mark.parametrize("by", ["ann", "admin"])
@pytest.mark.parametrize(
    ("content", "sequence", "lowest", "words"),
    [
        (1, 0, 0, "is a delete manifest"),
        (0, 1, 0, "has a sequence number in the manifest list"),
        (0, 0, 1, "has a sequence number in the manifest list"),
        (0, -1, 0, "has a sequence number in the manifest list"),
        (0, 1 << 62, 1 << 62, "has a sequence number in the manifest list"),
    ],
)
def test_a_list_with_a_delete_manifest_or_a_sequence_number_is_refused(
    filled: Table, content: int, sequence: int, lowest: int, words: str, by: str
) -> None:
    manifest = f"{filled.location}/metadata/m.avro"
    forged = _listed_v1(manifest) + number(sequence) + number(lowest) + number(content)

    # The parent has the manifest too: its entry in the new list counts nevertheless.
    answer = filled.second(filled.put("l2.avro", avro(LIST_WITH_NUMBERS, 1, forged)), by)

    assert (answer.status_code, words in answer.text) == (400, True), answer.text
    assert len(filled.metadata()["snapshots"]) == 1


@pytest.mark.parametrize("content", [1, 2])
@pytest.mark.parametrize("manifest_content", [0, 1])
def test_a_delete_file_is_refused(table: Table, content: int, manifest_content: int) -> None:
    deletes = table.put("m.avro", avro(ENTRY, 1, number(1) + file_values(table.data, content=content)))
    path = table.put("list.avro", avro(LIST, 1, listed(deletes, content=manifest_content)))
    if not manifest_content:
        path = table.list(deletes)

    answer = table.commit(path, by="admin")

    assert (answer.status_code, "which tables of format version 1 do not have" in answer.text) == (400, True)


@pytest.mark.parametrize(("data", "own"), [(1, None), (None, 1), (-1, 0), (0, 1 << 62)])
@pytest.mark.parametrize("status", [0, 1, 2])
def test_a_file_with_a_sequence_number_is_refused(table: Table, status: int, data: int | None, own: int | None) -> None:
    entry = number(status) + file_values(table.data) + _optional(data) + _optional(own)
    manifest = table.put("m.avro", avro(SEQUENCES, 1, entry))

    answer = table.commit(table.list(manifest, rows=2 if status == 1 else 0), by="admin")

    assert (answer.status_code, "names a file with a sequence number" in answer.text) == (400, True), answer.text


def test_a_file_outside_the_table_is_refused(table: Table) -> None:
    for place in (f"{table.location}/../other/data/a.parquet", "file:/etc/passwd"):
        assert table.commit(table.list(table.manifest(path=place))).status_code == 403


def test_a_list_with_a_wrong_number_of_rows_is_refused(table: Table) -> None:
    answer = table.commit(table.list(table.manifest(), rows=1))

    assert (answer.status_code, "another number of rows" in answer.text) == (400, True)


def test_a_list_without_counts_is_accepted_and_its_files_decide(table: Table) -> None:
    manifest = table.manifest()

    assert table.commit(table.list_without_counts(manifest)).status_code == 200
    same = table.list_without_counts(manifest, name="l2.avro")
    less = table.list_without_counts(name="l3.avro")
    assert table.second(same).status_code == 200
    assert table.second(less, snapshot_id=9, parent_snapshot_id=SECOND).status_code == 403


def test_a_forged_number_of_rows_of_an_existing_manifest_is_refused(table: Table) -> None:
    manifest = table.manifest()
    assert table.commit(table.list_without_counts(manifest)).status_code == 200

    answer = table.second(table.list(manifest, name="l2.avro", rows=1), "bob")

    assert (answer.status_code, "another number of rows" in answer.text) == (400, True), answer.text


def test_a_snapshot_that_names_its_manifests_itself_is_refused(table: Table) -> None:
    manifests = [table.manifest()]

    for said in ({"manifests": manifests, "manifest-list": None}, {"manifests": manifests}, {"manifests": []}):
        answer = table.commit(table.list(*manifests), said, by="admin")

        assert (answer.status_code, "names its `manifests` in the metadata" in answer.text) == (400, True), answer.text


@pytest.mark.parametrize(("parent", "status"), [(FIRST, 200), (None, 403)])
def test_the_rows_of_version_1_stay_after_an_upgrade(filled: Table, parent: int | None, status: int) -> None:
    upgrade = {"action": "upgrade-format-version", "format-version": 2}
    assert filled.update(upgrade, by="ann").status_code == 403
    assert filled.update(upgrade).status_code == 200
    # The record of version 2 states what version 1 left out.
    kept = text(f"{filled.location}/metadata/m.avro") + b"".join(
        map(number, (1000, 0, 0, 0, FIRST, 0, 1, 0, 0, 2, 0, 0))
    )
    new = listed(filled.put("n.avro", avro(ENTRY, 1, number(1) + file_values(f"{filled.location}/data/b.parquet"))))

    path = filled.put("l2.avro", avro(LIST, 2, kept + new))
    answer = filled.second(path, sequence_number=1, parent_snapshot_id=parent)

    assert answer.status_code == status, answer.text


def test_a_table_of_version_1_is_registered_again_with_checked_manifests(filled: Table) -> None:
    loaded = filled.world.call("GET", f"/namespaces/raw/tables/{filled.name}").json()
    assert filled.world.call("DELETE", f"/namespaces/raw/tables/{filled.name}").status_code == 204
    body = {"name": filled.name, "metadata-location": loaded["metadata-location"]}

    deletes = filled.put("d.avro", avro(ENTRY, 1, number(1) + file_values(filled.data, content=1)))
    filled.put("list.avro", avro(LIST, 1, listed(deletes, content=1)))
    refused = filled.world.call("POST", "/namespaces/raw/register", body)
    filled.list(f"{filled.location}/metadata/m.avro")
    taken = filled.world.call("POST", "/namespaces/raw/register", body)

    assert (refused.status_code, "is a delete manifest" in refused.text) == (400, True), refused.text
    assert (taken.status_code, taken.json()["metadata"]["format-version"]) == (200, 1), taken.text


def test_rows_that_pyiceberg_wrote_in_version_1_can_be_deleted_after_an_upgrade(table: Table) -> None:
    mine = table.world.iceberg().load_table(f"raw.{table.name}")
    mine.append(pa.table({"d": [1, 2]}))
    assert table.update({"action": "upgrade-format-version", "format-version": 2}).status_code == 200

    upgraded = table.world.iceberg().load_table(f"raw.{table.name}")
    upgraded.delete("d = 1")
    upgraded.append(pa.table({"d": [3]}))

    assert sorted(upgraded.scan().to_arrow()["d"].to_pylist()) == [2, 3]
    assert table.metadata()["last-sequence-number"] == 2
