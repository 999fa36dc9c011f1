"""Iceberg's own Java library can open every table that a commit leaves, and so can Spark, Trino and Flink."""

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import TypeAdapter
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.sorting import SortOrder
from pyiceberg.table.update import TableUpdate
from pyiceberg.types import LongType, NestedField, StringType
from pyiceberg.view.metadata import ViewMetadata, ViewVersion

from headgate.facts.ids import ResourceId
from headgate.lake.errors import InvalidMetadataError, LakeError
from headgate.lake.metadata import NewTable, build_updated_metadata, new_metadata
from headgate.lake.metadata_rules import check_metadata
from headgate.lake.views import NewView, ViewUpdate, build_updated_view, new_view
from headgate.spark.toolchain.prepare import Toolchain
from tests.lake.java import JavaReader, java_reader

pytestmark = pytest.mark.spark  # needs Java and the jar; no Spark is started

LOCATION = "file:///w/organization/d/t"
TABLE = ResourceId("5a3e0f0b-4d0f-4c57-b1b1-0a9c3c0f8a11")
UPDATES: TypeAdapter[tuple[TableUpdate, ...]] = TypeAdapter(tuple[TableUpdate, ...])
VIEW_UPDATES: TypeAdapter[tuple[ViewUpdate, ...]] = TypeAdapter(tuple[ViewUpdate, ...])
BASE = new_metadata(
    NewTable(Schema(NestedField(1, "n", LongType()), NestedField(2, "part", StringType()))), TABLE, LOCATION
)
TYPES = (
    "long",
    "string",
    "double",
    "date",
    "timestamp",
    "binary",
    "boolean",
    "decimal(9, 2)",
    "uuid",
    "fixed[4294967296]",
)
TRANSFORMS = (
    *("identity", "bucket[4]", "truncate[3]", "day", "hour", "year", "month", "void", "nonsense", "bucket[0]"),
    *("bucket[4294967296]", "truncate[4294967296]"),
)
LARGE = 2**64


@pytest.fixture(scope="module")
def java(toolchain: Toolchain) -> Iterator[JavaReader]:
    with java_reader(toolchain) as reader:
        yield reader


class Client:
    """Generates updates: most of them as engines send them, some invalid."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)  # noqa: S311 (not for cryptography)

    def updates(self) -> list[dict[str, Any]]:
        """Return the updates of one commit."""
        kinds = (
            *(self.schema, self.spec, self.order, self.current, self.snapshot, self.ref, self.properties),
            *(self.removal, self.statistics, self.current_snapshot),
        )
        return [each for _ in range(self.chance.randint(1, 4)) for each in self.chance.choice(kinds)()]

    def name(self) -> str:
        """Return a name that other fields may have too."""
        return self.chance.choice(("n", "part", "a", "b", "n_bucket", "part_day", "N", "a.b", ""))

    def field(self, id: int) -> dict[str, Any]:
        """A column, at times a nested one."""
        kind: Any = self.chance.choice(TYPES)
        if self.chance.random() < 0.15:
            kind = {"type": "struct", "fields": [self.field(id + 100), self.field(self.chance.choice((id + 101, id)))]}
        elif self.chance.random() < 0.1:
            kind = {"type": "list", "element-id": id + 200, "element": "long", "element-required": False}
        return {"id": id, "name": self.name(), "type": kind, "required": self.chance.random() < 0.1}

    def schema(self) -> list[dict[str, Any]]:
        """A schema, perhaps without a column that partitions need."""
        kept = [{"id": 1, "name": "n", "type": "long", "required": False}] if self.chance.random() < 0.7 else []
        kept += [{"id": 2, "name": "part", "type": "string", "required": False}] if self.chance.random() < 0.7 else []
        added = [self.field(self.chance.choice((3, 4, 5, 1))) for _ in range(self.chance.randint(0, 2))]
        ids = [self.chance.choice((1, 2, 3, 99))] if self.chance.random() < 0.2 else []
        schema = {"type": "struct", "schema-id": self.number(), "fields": kept + added, "identifier-field-ids": ids}
        return [{"action": "add-schema", "schema": schema, "last-column-id": 5}, *self.maybe(self.set("schema"))]

    def spec(self) -> list[dict[str, Any]]:
        """A partition spec."""
        fields = [
            {
                "source-id": self.chance.choice((1, 2, 3, 4, 77)),
                "field-id": self.chance.choice((1000, 1001, 1002, 1003, 5)),
                "name": self.name() or "p",
                "transform": self.chance.choice(TRANSFORMS),
            }
            for _ in range(self.chance.randint(0, 2))
        ]
        return [
            {"action": "add-spec", "spec": {"spec-id": self.number(), "fields": fields}},
            *self.maybe(self.set("spec")),
        ]

    def order(self) -> list[dict[str, Any]]:
        """A sort order."""
        fields = [
            {
                "source-id": self.chance.choice((1, 2, 3, 77)),
                "transform": self.chance.choice(TRANSFORMS),
                "direction": self.chance.choice(("asc", "desc")),
                "null-order": self.chance.choice(("nulls-first", "nulls-last")),
            }
            for _ in range(self.chance.randint(0, 2))
        ]
        order = {"order-id": self.number(), "fields": fields}
        return [{"action": "add-sort-order", "sort-order": order}, *self.maybe(self.set("order"))]

    def current(self) -> list[dict[str, Any]]:
        """Return an update that makes another schema, spec or order the current one."""
        return self.set(self.chance.choice(("schema", "spec", "order")))

    def set(self, kind: str) -> list[dict[str, Any]]:
        """Make a schema, spec or order the current one."""
        action, key = {
            "schema": ("set-current-schema", "schema-id"),
            "spec": ("set-default-spec", "spec-id"),
            "order": ("set-default-sort-order", "sort-order-id"),
        }[kind]
        return [{"action": action, key: self.chance.choice((-1, 0, 1, 2))}]

    def snapshot(self) -> list[dict[str, Any]]:
        """Return updates that add a snapshot, whose files may be invalid."""
        snapshot = {
            "snapshot-id": self.chance.randint(1, 6),
            "sequence-number": self.chance.randint(0, 9),
            "timestamp-ms": self.chance.choice((1, 1795500000000, 9999999999999)),
            "manifest-list": f"{LOCATION}/metadata/snap-1.avro",
            "summary": {
                "operation": self.chance.choice(("append", "delete", "overwrite", "replace")),
                **self.chance.choice(({}, {"added-records": "1"}, {"added-records": "x"}, {"x": 5}, {"x": None})),
            },
            "schema-id": self.chance.choice((0, 1, 7)),
        }
        if self.chance.random() < 0.6:
            snapshot["parent-snapshot-id"] = self.chance.randint(1, 6)
        return [{"action": "add-snapshot", "snapshot": snapshot}, *self.maybe(self.ref())]

    def ref(self) -> list[dict[str, Any]]:
        """A branch or tag."""
        ref = {
            "action": "set-snapshot-ref",
            "ref-name": self.chance.choice(("main", "old", "")),
            "type": self.chance.choice(("branch", "tag")),
            "snapshot-id": self.chance.randint(1, 6),
        }
        for key in ("max-ref-age-ms", "max-snapshot-age-ms", "min-snapshots-to-keep"):
            if self.chance.random() < 0.2:
                ref[key] = self.chance.choice((0, -1, 5, 5, 2**40, LARGE))
        return [ref]

    def current_snapshot(self) -> list[dict[str, Any]]:
        """Return updates that make a new snapshot the current one, with boundary values as numbers."""
        id, time = (
            self.chance.choice((*range(1, 7), -1, 0, LARGE)),
            self.chance.choice((-5, 1795500000000, 2**62, LARGE)),
        )
        number = self.chance.choice((*range(1, 10), 2**62, LARGE))
        return [snapshot(id, number, time, **{"schema-id": self.chance.choice((0, 1, 2**40))}), as_main(id)]

    def removal(self) -> list[dict[str, Any]]:
        """Return an update that removes an object."""
        number = self.chance.randint(0, 6)
        removals: tuple[dict[str, Any], ...] = (
            {"action": "remove-snapshots", "snapshot-ids": [number]},
            {"action": "remove-schemas", "schema-ids": [number]},
            {"action": "remove-partition-specs", "spec-ids": [number]},
            {"action": "remove-snapshot-ref", "ref-name": self.chance.choice(("main", "old"))},
            {"action": "remove-statistics", "snapshot-id": number},
            {"action": "remove-partition-statistics", "snapshot-id": number},
            {"action": "remove-properties", "removals": ["comment", "x"]},
        )
        return [self.chance.choice(removals)]

    def statistics(self) -> list[dict[str, Any]]:
        """Statistics of a snapshot, or of its partitions."""
        id = self.chance.randint(1, 6)
        blob = {
            "type": "apache-datasketches-theta-v1",
            "snapshot-id": self.chance.randint(1, 6),
            "sequence-number": self.chance.choice((1, -1)),
            "fields": self.chance.choice(([], [1], [99], [2**40])),
            "properties": {"ndv": "1"},
        }
        size = {"snapshot-id": id, "file-size-in-bytes": self.chance.choice((0, -1, 7, LARGE))}
        file = {**size, "statistics-path": f"{LOCATION}/metadata/s.puffin"}
        if self.chance.random() < 0.5:
            return [{"action": "set-partition-statistics", "partition-statistics": file}]
        whole = {**file, "file-footer-size-in-bytes": 3, "blob-metadata": [blob] * self.chance.randint(0, 2)}
        return [{"action": "set-statistics", "snapshot-id": id, "statistics": whole}]

    def new_table(self) -> NewTable:
        """Return the request of a create."""
        return NewTable(
            Schema.model_validate(self.schema()[0]["schema"]),
            PartitionSpec.model_validate(self.spec()[0]["spec"]),
            SortOrder.model_validate(self.order()[0]["sort-order"]),
        )

    def version(self) -> dict[str, Any]:
        """A version of a view."""
        return {
            "version-id": self.number(),
            "schema-id": self.chance.choice((-1, 0, 1, LARGE)),
            "timestamp-ms": self.chance.choice((-5, 1, 1795500000000, LARGE)),
            "summary": self.chance.choice(({}, {"engine-name": "spark"})),
            "representations": [
                {"type": "sql", "sql": "SELECT 1", "dialect": self.chance.choice(("spark", "trino", ""))}
            ],
            "default-namespace": self.chance.choice(([], ["db"])),
        }

    def view_updates(self) -> list[dict[str, Any]]:
        """Return the updates of one commit to a view."""
        return [
            *self.maybe(self.schema()[:1]),
            {"action": "add-view-version", "view-version": self.version()},
            {"action": "set-current-view-version", "view-version-id": -1},
            *self.maybe(self.properties()),
        ]

    def properties(self) -> list[dict[str, Any]]:
        """Properties."""
        return [{"action": "set-properties", "updates": {"comment": self.name()}}]

    def number(self) -> int:
        """Return a number that a client assigns to a new object."""
        return self.chance.choice((0, 1, 2, 7, -1))

    def maybe(self, updates: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return all of the updates, or none."""
        return updates if self.chance.random() < 0.6 else []


def committed(base: TableMetadata, updates: list[dict[str, Any]]) -> TableMetadata | None:
    """Return the metadata after a commit, or None if the commit is refused."""
    try:
        read = UPDATES.validate_python(updates)
    except ValueError:
        return None
    try:
        metadata = build_updated_metadata(base, f"{LOCATION}/metadata/00000-x.metadata.json", read)
        check_metadata(metadata, TABLE, LOCATION)
    except LakeError:
        return None
    return metadata


@pytest.mark.parametrize("commits", [1500, pytest.param(40_000, marks=[pytest.mark.soak, pytest.mark.timeout(600)])])
def test_metadata_after_any_updates_is_opened_by_java(java: JavaReader, commits: int) -> None:
    base, taken, faults = BASE, 0, dict[str, str]()
    for seed in range(commits):
        updates = Client(seed).updates()
        metadata = committed(base, updates)
        if metadata is None:
            continue
        taken += 1
        fault = java.fault(metadata.model_dump_json())
        if fault is not None:
            faults.setdefault(fault.split(":")[1][:60], f"{fault}\n{json.dumps(updates)}")
            continue
        base = metadata if len(metadata.schemas) < 6 and len(metadata.snapshots) < 5 else BASE

    assert "\n\n".join(faults.values()) == ""
    assert taken > commits / 20


def created(client: Client) -> TableMetadata | None:
    """Return the metadata of a new table, or None if the create is refused."""
    try:
        return new_metadata(client.new_table(), TABLE, LOCATION)
    except (ValueError, LakeError):
        return None


def test_metadata_of_any_new_table_is_opened_by_java(java: JavaReader) -> None:
    made = [each for seed in range(1500) if (each := created(Client(seed))) is not None]

    assert [fault for each in made if (fault := java.fault(each.model_dump_json()))] == []
    assert len(made) > 75


def viewed(client: Client) -> ViewMetadata | None:
    """Return the metadata of a new view after a commit, or None if one of the two is refused."""
    try:
        schema = Schema.model_validate(client.schema()[0]["schema"])
        made = new_view(NewView(schema, ViewVersion.model_validate(client.version())), TABLE, LOCATION)
        return build_updated_view(made, VIEW_UPDATES.validate_python(client.view_updates()), 1795500000)
    except (ValueError, LakeError):
        return None


def test_metadata_of_any_view_is_opened_by_java(java: JavaReader) -> None:
    made = [each for seed in range(1500) if (each := viewed(Client(seed))) is not None]

    assert [fault for each in made if (fault := java.fault(each.model_dump_json()))] == []
    assert len(made) > 75


def commit(base: TableMetadata, *updates: dict[str, Any]) -> TableMetadata:
    metadata = committed(base, list(updates))
    assert metadata is not None
    return metadata


ORDER = {
    "order-id": 1,
    "fields": [{"transform": "identity", "source-id": 1, "direction": "asc", "null-order": "nulls-first"}],
}
DESCENDING = {**ORDER, "fields": [{**ORDER["fields"][0], "direction": "desc"}]}  # type: ignore[index]
SPEC = {"spec-id": 0, "fields": [{"source-id": 2, "field-id": 1000, "name": "part", "transform": "identity"}]}


def test_an_existing_sort_order_or_spec_is_not_added_again(java: JavaReader) -> None:
    first = commit(BASE, {"action": "add-sort-order", "sort-order": ORDER}, {"action": "add-spec", "spec": SPEC})

    second = commit(first, {"action": "add-sort-order", "sort-order": ORDER}, {"action": "add-spec", "spec": SPEC})

    assert [each.order_id for each in second.sort_orders] == [0, 1]
    assert [each.spec_id for each in second.partition_specs] == [0, 1]
    assert java.fault(second.model_dump_json()) is None


def test_a_new_sort_order_with_a_used_id_gets_the_next_id(java: JavaReader) -> None:
    first = commit(BASE, {"action": "add-sort-order", "sort-order": ORDER})

    second = commit(
        first,
        {"action": "add-sort-order", "sort-order": DESCENDING},
        {"action": "set-default-sort-order", "sort-order-id": -1},
    )

    assert (second.default_sort_order_id, len(second.sort_orders)) == (2, 3)
    assert java.fault(second.model_dump_json()) is None


def snapshot(id: int, number: int, at: int = 1795500000000, **more: Any) -> dict[str, Any]:
    path = f"{LOCATION}/metadata/snap-{id}.avro"
    said = {"snapshot-id": id, "sequence-number": number, "timestamp-ms": at, "manifest-list": path, **more}
    return {"action": "add-snapshot", "snapshot": {**said, "summary": {"operation": "append"}}}


def as_main(id: int) -> dict[str, Any]:
    return {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": id}


def test_a_replacement_that_starts_before_other_commits_has_the_larger_sequence_number(java: JavaReader) -> None:
    """CREATE OR REPLACE TABLE ... AS SELECT concurrent with other writers."""
    base = commit(BASE, snapshot(1, 1), as_main(1))
    later = commit(base, snapshot(2, 2, **{"parent-snapshot-id": 1}), as_main(2))

    replaced = commit(later, snapshot(3, 2), as_main(3))

    assert (replaced.current_snapshot_id, json.loads(replaced.model_dump_json())["last-sequence-number"]) == (3, 2)
    assert java.fault(replaced.model_dump_json()) is None
    assert committed(later, [snapshot(4, 2, **{"parent-snapshot-id": 2})]) is None


def test_java_opens_a_table_with_snapshot_times_of_the_past_and_far_future(java: JavaReader) -> None:
    table = BASE
    for number, at in enumerate((1, 9_999_999_999_999, 1795500000000, 2), start=1):
        table = commit(table, snapshot(number, number, at), as_main(number))
        assert java.fault(table.model_dump_json()) is None

    times = [each.timestamp_ms for each in table.snapshot_log]
    assert times == sorted(times)
    assert [each.timestamp_ms for each in table.snapshots] == [1, 9_999_999_999_999, 1795500000000, 2]


@pytest.mark.parametrize(
    ("updates", "words"),
    [
        ([{"action": "add-spec", "spec": {"spec-id": 1, "fields": [{**SPEC["fields"][0], "transform": "bucket[0]", "name": "p"}]}}], "above 0"),  # type: ignore[index, dict-item]
        ([{"action": "add-spec", "spec": {"spec-id": 1, "fields": [{**SPEC["fields"][0], "transform": "day", "name": "d"}]}}], "cannot be used for the column `part`"),  # type: ignore[index, dict-item]
        ([{"action": "add-spec", "spec": {"spec-id": 1, "fields": [{**SPEC["fields"][0], "name": "n"}]}}], "has the name of a column"),  # type: ignore[index, dict-item]
        ([{"action": "add-schema", "schema": {"type": "struct", "schema-id": 1, "fields": [
            {"id": 1, "name": "a", "type": "long", "required": False}, {"id": 1, "name": "b", "type": "long", "required": False}]}}], "have the same id"),
    ],
    ids=["width", "type", "name", "ids"],
)  # fmt: skip
def test_a_commit_that_java_cannot_read_is_refused_with_the_fault(updates: list[dict[str, Any]], words: str) -> None:
    with pytest.raises(InvalidMetadataError, match=words):
        build_updated_metadata(BASE, None, UPDATES.validate_python(updates))
