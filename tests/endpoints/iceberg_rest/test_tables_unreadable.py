"""Metadata that Iceberg's Java library cannot open: the REST catalog refuses it with the fault, and changes nothing."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from tests.lake.catalog_harness import CatalogHarness, served

SCHEMA = Schema(NestedField(1, "n", LongType()), NestedField(2, "s", StringType()))
LARGE = 2**64
WIDE = 2**40
RANGE = "out of range"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CatalogHarness]:
    """One world, with a table of one snapshot and with a view."""
    with served(tmp_path_factory.mktemp("world")) as made:
        made.iceberg().create_namespace("raw")
        made.iceberg().create_table("raw.t", SCHEMA).append(pa.table({"n": [1], "s": ["a"]}))
        assert view(made, "v", SCHEMA.model_dump(), 1) == (200, "")
        yield made


def called(world: CatalogHarness, path: str, body: dict[str, Any]) -> tuple[int, str]:
    """Send a request; return the status and the message of the answer."""
    answer = world.call("POST", path, body)
    return answer.status_code, answer.json().get("error", {}).get("message", "")


def view(world: CatalogHarness, name: str, schema: dict[str, Any], timestamp: int) -> tuple[int, str]:
    """Create a view."""
    return called(world, "/namespaces/raw/views", {"name": name, "schema": schema, "view-version": version(timestamp)})


def version(timestamp: int) -> dict[str, Any]:
    text = {"type": "sql", "sql": "SELECT 1", "dialect": "spark"}
    said = {"summary": {}, "representations": [text], "default-namespace": ["raw"]}
    return {"version-id": 1, "schema-id": 0, "timestamp-ms": timestamp, **said}


def columns(*fields: tuple[int, str, str]) -> dict[str, Any]:
    named = [{"id": id, "name": name, "type": type, "required": False} for id, name, type in fields]
    return {"type": "struct", "schema-id": 0, "fields": named}


def partitioned(*fields: tuple[int, str, str], first: int = 1000) -> dict[str, Any]:
    return {
        "spec-id": 0,
        "fields": [
            {"source-id": source, "field-id": first + position, "name": name, "transform": transform}
            for position, (source, name, transform) in enumerate(fields)
        ],
    }


def sorted_by(source: int, transform: str) -> dict[str, Any]:
    field = {"source-id": source, "transform": transform, "direction": "asc", "null-order": "nulls-first"}
    return {"order-id": 1, "fields": [field]}


@pytest.mark.parametrize("is_staged", [False, True], ids=["at once", "staged"])
@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"partition-spec": partitioned((2, "x", "day"))}, "`day` cannot be used for the column `s`"),
        ({"partition-spec": partitioned((1, "x", "bucket[0]"))}, "above 0"),
        ({"partition-spec": partitioned((1, "x", f"bucket[{WIDE}]"))}, "32 bits"),
        ({"partition-spec": partitioned((1, "x", "bucket[4]"), (2, "x", "identity"))}, "the same name"),
        ({"partition-spec": partitioned((1, "", "bucket[4]"))}, "has no name"),
        ({"write-order": sorted_by(2, "day")}, "`day` cannot be used for the column `s`"),
        ({"write-order": sorted_by(2, "truncate[0]")}, "above 0"),
        ({"schema": columns((1, "n", f"fixed[{WIDE}]"))}, "the column `n` has a type"),
    ],
    ids=[
        "day of a text",
        "width 0",
        "wide",
        "a repeated name",
        "no name",
        "order of a text",
        "order of width 0",
        "fixed",
    ],
)
def test_a_new_table_that_java_could_not_open_is_a_bad_request(
    world: CatalogHarness, asked: dict[str, Any], words: str, *, is_staged: bool
) -> None:
    body = {"name": "new", "schema": SCHEMA.model_dump(), "stage-create": is_staged, **asked}

    status, message = called(world, "/namespaces/raw/tables", body)

    assert (status, words in message) == (400, True), message
    assert not world.iceberg().table_exists("raw.new")


def snapshot(world: CatalogHarness, **said: Any) -> list[dict[str, Any]]:
    """Return the updates that add a snapshot of the existing rows, and make it the current one."""
    current = world.call("GET", "/namespaces/raw/tables/t").json()["metadata"]["snapshots"][0]
    made = {**current, "snapshot-id": 7, "sequence-number": 2, **said}
    return [{"action": "add-snapshot", "snapshot": made}, main(made["snapshot-id"])]


def main(snapshot: int, **kept: int) -> dict[str, Any]:
    return {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": snapshot, **kept}


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"snapshot-id": -1}, "whose id is not -1"),
        ({"snapshot-id": LARGE}, RANGE),
        ({"sequence-number": LARGE}, RANGE),
        ({"timestamp-ms": LARGE}, RANGE),
        ({"schema-id": WIDE}, RANGE),
        ({"summary": {"operation": "append", "x": 5}}, "`x` in the summary"),
    ],
    ids=["the id that means none", "id", "sequence", "time", "schema", "summary"],
)
def test_a_snapshot_that_java_could_not_read_is_a_bad_request(
    world: CatalogHarness, said: dict[str, Any], words: str
) -> None:
    _refused(world, snapshot(world, **said), words)


@pytest.mark.parametrize(
    ("update", "words"),
    [
        ({"action": "add-schema", "schema": columns((WIDE, "z", "long"))}, RANGE),
        ({"action": "add-schema", "schema": columns((1, "n", "long"), (9, "z", f"fixed[{WIDE}]"))}, "column `z`"),
        ({"action": "add-spec", "spec": partitioned((1, "x", "identity"), first=WIDE)}, RANGE),
        ({"action": "add-spec", "spec": partitioned((1, "x", f"bucket[{WIDE}]"))}, "32 bits"),
    ],
    ids=["column id", "fixed", "partition id", "bucket"],
)
def test_a_schema_or_spec_that_java_could_not_read_is_a_bad_request(
    world: CatalogHarness, update: dict[str, Any], words: str
) -> None:
    _refused(world, [update], words)


@pytest.mark.parametrize(
    "kept", [{"max-ref-age-ms": LARGE}, {"max-snapshot-age-ms": LARGE}, {"min-snapshots-to-keep": WIDE}], ids=str
)
def test_a_ref_with_a_number_out_of_range_is_a_bad_request(world: CatalogHarness, kept: dict[str, int]) -> None:
    _refused(world, [main(_current(world), **kept)], RANGE)


def test_statistics_with_a_number_out_of_range_are_a_bad_request(world: CatalogHarness) -> None:
    id, location = _current(world), world.iceberg().load_table("raw.t").location()
    file = {"snapshot-id": id, "statistics-path": f"{location}/metadata/s", "file-size-in-bytes": LARGE}
    whole = {**file, "file-footer-size-in-bytes": 1, "blob-metadata": []}

    _refused(world, [{"action": "set-statistics", "snapshot-id": id, "statistics": whole}], RANGE)
    _refused(world, [{"action": "set-partition-statistics", "partition-statistics": file}], RANGE)


@pytest.mark.parametrize(
    ("schema", "timestamp", "words"),
    [(columns((1, "n", "long"), (1, "m", "long")), 1, "have the same id"), (SCHEMA.model_dump(), 2**70, RANGE)],
    ids=["ids", "time"],
)
def test_a_view_that_java_could_not_open_is_a_bad_request(
    world: CatalogHarness, schema: dict[str, Any], timestamp: int, words: str
) -> None:
    updates = [
        {"action": "add-schema", "schema": schema, "last-column-id": 2},
        {"action": "add-view-version", "view-version": {**version(timestamp), "schema-id": -1, "summary": {"a": "b"}}},
        {"action": "set-current-view-version", "view-version-id": -1},
    ]

    made = view(world, "w", schema, timestamp)
    replaced = called(world, "/namespaces/raw/views/v", {"updates": updates})

    assert [(status, words in message) for status, message in (made, replaced)] == [(400, True)] * 2, (made, replaced)


def _current(world: CatalogHarness) -> int:
    return int(world.call("GET", "/namespaces/raw/tables/t").json()["metadata"]["current-snapshot-id"])


def _refused(world: CatalogHarness, updates: list[dict[str, Any]], words: str) -> None:
    before = world.call("GET", "/namespaces/raw/tables/t").json()

    status, message = called(world, "/namespaces/raw/tables/t", {"requirements": [], "updates": updates})

    assert (status, words in message) == (400, True), message
    assert world.call("GET", "/namespaces/raw/tables/t").json() == before
