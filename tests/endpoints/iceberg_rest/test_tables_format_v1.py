"""Tables of format version 1 over the REST catalog: created, committed to, upgraded, registered, and never upgraded unasked."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, LongType, NestedField, StringType

from tests.lake.catalog_harness import ZSTD, CatalogHarness, served
from tests.lake.staged_table import build_create_commit
from tests.lake.table_v3 import NEW_TYPES

Document = dict[str, Any]

ROWS = pa.table({"name": ["a", "b"], "amount": [1, 2]})
SCHEMA = Schema(NestedField(1, "name", StringType()), NestedField(2, "amount", LongType()))
PLAIN = SCHEMA.model_dump(by_alias=True)
V1 = {"format-version": "1"}
UPGRADE = {"action": "upgrade-format-version"}
OPTIONAL = ("schemas", "current-schema-id", "partition-specs", "default-spec-id", "last-partition-id", "sort-orders", "default-sort-order-id", "refs")  # fmt: skip
"""The fields that early versions of Iceberg's library did not write."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CatalogHarness]:
    """`raw.old` has two rows of format version 1."""
    with served(tmp_path_factory.mktemp("v1")) as made:
        admin = made.iceberg()
        admin.create_namespace("raw")
        admin.create_table("raw.old", SCHEMA, properties=V1).append(ROWS)
        yield made


def _stage(world: CatalogHarness, name: str, version: int | None) -> tuple[Document, Any]:
    """Stage and create a table of version 1, with this version in the commit; return its staged metadata and the answer."""
    body = {"name": name, "schema": PLAIN, "properties": V1, "stage-create": True}
    metadata: Document = world.call("POST", "/namespaces/raw/tables", body).json()["metadata"]
    return metadata, world.call("POST", f"/namespaces/raw/tables/{name}", build_create_commit(metadata, version))


class TestWorkingWithVersion1:
    def test_pyiceberg_changes_rows_columns_and_partitions_of_a_table_that_stays_in_version_1(
        self, world: CatalogHarness
    ) -> None:
        table = world.iceberg().create_table("raw.used", SCHEMA, properties=V1)
        table.append(ROWS)
        with table.update_spec() as spec:
            spec.add_identity("name")
        with table.update_schema() as schema:
            schema.add_column("more", IntegerType())
        table.append(pa.table({"name": ["c"], "amount": [3], "more": pa.array([7], pa.int32())}))
        table.delete("amount = 1")
        with table.update_spec() as spec:
            spec.remove_field("name")
        table.append(ROWS.append_column("more", pa.array([1, 2], pa.int32())))
        table.maintenance.expire_snapshots().by_id(table.metadata.snapshots[0].snapshot_id).commit()

        loaded = world.iceberg().load_table("raw.used")
        assert (table.metadata.format_version, loaded.metadata.format_version) == (1, 1)
        assert sorted(loaded.scan().to_arrow()["amount"].to_pylist()) == [1, 2, 2, 3]
        metadata = world.metadata("used")
        assert metadata["properties"] == ZSTD
        assert metadata["schema"] == metadata["schemas"][-1]
        assert [each["transform"] for each in metadata["partition-spec"]] == ["void"]
        assert not any("sequence-number" in each for each in metadata["snapshots"])

    def test_a_new_table_without_a_version_has_version_2(self, world: CatalogHarness) -> None:
        world.iceberg().create_table("raw.default", SCHEMA)

        assert world.metadata("default")["format-version"] == 2

    @pytest.mark.parametrize(("version", "made"), [(1, 1), (2, 2), (3, 3), (None, 2)])
    def test_a_staged_table_has_the_version_of_its_first_commit(
        self, world: CatalogHarness, version: int | None, made: int
    ) -> None:
        name = f"staged_{version}"

        metadata, answer = _stage(world, name, version)

        assert answer.status_code == 200, answer.text
        loaded = world.metadata(name)
        assert (metadata["format-version"], loaded["format-version"]) == (1, made)
        assert ("schema" in loaded, "partition-spec" in loaded) == (made == 1, made == 1)

    def test_a_retried_commit_is_applied_once(self, world: CatalogHarness) -> None:
        world.iceberg().create_table("raw.retried", SCHEMA, properties=V1).append(ROWS)
        metadata = world.metadata("retried")
        head = metadata["snapshots"][0]
        snapshot = {**head, "snapshot-id": 5, "parent-snapshot-id": head["snapshot-id"], "timestamp-ms": int(time.time() * 1000)}  # fmt: skip
        added = {"action": "add-snapshot", "snapshot": snapshot}

        first, second = world.commit("retried", added), world.commit("retried", added)

        assert (first.status_code, second.status_code) == (200, 200)
        assert first.json()["metadata-location"] == second.json()["metadata-location"]

    def test_a_metadata_file_of_an_early_library_is_registered_and_committed_to(self, world: CatalogHarness) -> None:
        world.iceberg().create_table("raw.early", SCHEMA, properties=V1).append(ROWS)
        loaded = world.call("GET", "/namespaces/raw/tables/early").json()
        world.call("DELETE", "/namespaces/raw/tables/early")
        file = Path(loaded["metadata-location"].removeprefix("file://"))
        early = {key: value for key, value in loaded["metadata"].items() if key not in OPTIONAL}
        body = {"name": "early", "metadata-location": loaded["metadata-location"]}

        refused = []
        for change in ({"table-uuid": None}, {"snapshots": [{**early["snapshots"][0], "sequence-number": 9}]}):
            file.write_text(json.dumps({**early, **change}))
            refused.append(world.call("POST", "/namespaces/raw/register", body).status_code)
        file.write_text(json.dumps(early))
        answer = world.call("POST", "/namespaces/raw/register", body)

        assert (refused, answer.status_code) == ([400, 400], 200), answer.text
        table = world.iceberg().load_table("raw.early")
        table.append(ROWS)
        assert (table.scan().to_arrow().num_rows, world.metadata("early")["format-version"]) == (4, 1)


class TestUpgrades:
    @pytest.mark.parametrize("version", [2, 3])
    def test_an_upgrade_needs_the_privilege_to_alter_the_table_and_keeps_its_snapshots(
        self, world: CatalogHarness, version: int
    ) -> None:
        name = f"upgraded_{version}"
        world.iceberg().create_table(f"raw.{name}", SCHEMA, properties=V1).append(ROWS)
        world.rights.allow("wim", ("lake", "raw", name), "table.select", "table.insert", "table.describe")
        before = world.metadata(name)["snapshots"]

        assert world.commit(name, {**UPGRADE, "format-version": version}, by="wim").status_code == 403
        assert world.commit(name, {**UPGRADE, "format-version": version}).status_code == 200

        after = world.metadata(name)
        assert (after["format-version"], after["last-sequence-number"]) == (version, 0)
        assert [{**each, "sequence-number": 0} for each in before] == after["snapshots"]
        assert world.commit(name, {**UPGRADE, "format-version": 1}).status_code == 400
        assert world.metadata(name) == after

    def test_a_downgrade_to_version_1_is_refused(self, world: CatalogHarness) -> None:
        world.iceberg().create_table("raw.two", SCHEMA)

        answer = world.commit("two", {**UPGRADE, "format-version": 1})

        assert (answer.status_code, "a version is never lowered" in answer.text) == (400, True)
        assert world.commit("two", {"action": "set-properties", "updates": V1}).status_code == 403
        assert world.metadata("two")["format-version"] == 2


class TestRefusedCommits:
    @pytest.mark.parametrize(
        "field",
        [{"type": "variant"}, *({"type": type} for type in NEW_TYPES[1:]), {"type": "int", "initial-default": 1}],
        ids=str,
    )
    def test_a_table_of_version_1_gets_nothing_of_version_3(self, world: CatalogHarness, field: Document) -> None:
        column = {"id": 3, "name": "c", "required": False, **field}
        schema = {**PLAIN, "fields": [*PLAIN["fields"], column]}
        before = world.metadata("old")

        updates = [{"action": "add-schema", "schema": schema}, {"action": "set-current-schema", "schema-id": -1}]
        assert world.commit("old", *updates).status_code == 403
        for staged in (False, True):
            body = {"name": "x", "schema": schema, "properties": V1, "stage-create": staged}
            assert world.call("POST", "/namespaces/raw/tables", body).status_code == 403
        assert world.metadata("old") == before

    @pytest.mark.parametrize("ids", [(1001,), (1000, 1002), (1001, 1000), (1000, 1000)])
    def test_a_partition_spec_with_other_ids_than_its_positions_is_refused(
        self, world: CatalogHarness, ids: tuple[int, ...]
    ) -> None:
        fields = [
            {"source-id": at + 1, "field-id": id, "name": f"p{at}", "transform": "identity"}
            for at, id in enumerate(ids)
        ]
        before = world.metadata("old")

        answer = world.commit("old", {"action": "add-spec", "spec": {"spec-id": 1, "fields": fields}})

        assert answer.status_code == 400, answer.text
        assert world.metadata("old") == before

    def test_a_partition_field_that_replaces_another_at_its_position_is_refused(self, world: CatalogHarness) -> None:
        table = world.iceberg().create_table("raw.parts", SCHEMA, properties=V1)
        with table.update_spec() as spec:
            spec.add_identity("name")
        other = {"source-id": 2, "field-id": 1000, "name": "p", "transform": "identity"}

        answer = world.commit("parts", {"action": "add-spec", "spec": {"spec-id": 2, "fields": [other]}})

        assert (answer.status_code, "use the id 1000 for different fields" in answer.text) == (400, True)
