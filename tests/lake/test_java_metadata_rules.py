"""Metadata that Iceberg's own Java library cannot open is refused, and metadata that it can open is accepted."""

import copy
import json
from collections.abc import Callable
from typing import Any, Final

import pytest
from pydantic import TypeAdapter
from pyiceberg.schema import Schema
from pyiceberg.table.update import TableUpdate
from pyiceberg.types import LongType, NestedField, StringType
from pyiceberg.view.metadata import ViewVersion

from headgate.facts.ids import ResourceId
from headgate.lake.errors import InvalidMetadataError
from headgate.lake.java_metadata_rules import require_readable, require_readable_view
from headgate.lake.metadata import NewTable, build_updated_metadata, new_metadata, parse_metadata
from headgate.lake.views import NewView, new_view, parse_view

Document = dict[str, Any]
Change = Callable[[Document], object]

LOCATION: Final = "file:///w/organization/d/t"
ID: Final = ResourceId("5a3e0f0b-4d0f-4c57-b1b1-0a9c3c0f8a11")
UPDATES: Final[TypeAdapter[tuple[TableUpdate, ...]]] = TypeAdapter(tuple[TableUpdate, ...])
SCHEMA: Final = Schema(NestedField(1, "n", LongType()), NestedField(2, "part", StringType()))


def _column(id: int, name: str, type: Any, *, required: bool = False) -> Document:
    return {"id": id, "name": name, "type": type, "required": required}


def _partition(source: int, transform: str = "identity", name: str = "x") -> Document:
    return {"source-id": source, "field-id": 1001, "name": name, "transform": transform}


def _order(source: int, transform: str = "identity") -> Document:
    return {"source-id": source, "transform": transform, "direction": "asc", "null-order": "nulls-first"}


def _whole_table() -> Document:
    """Return the metadata of a table that has every kind of number."""
    columns = [
        *SCHEMA.model_dump()["fields"],
        _column(3, "key", "long", required=True),
        _column(4, "pair", {"type": "struct", "fields": [_column(5, "a", "fixed[16]"), _column(6, "b", "date")]}),
        _column(7, "list", {"type": "list", "element-id": 8, "element": "decimal(9, 2)", "element-required": False}),
        _column(9, "map", {"type": "map", "key-id": 10, "key": "long", "value-id": 11, "value": "date", "value-required": False}),
    ]  # fmt: skip
    snapshots = [
        {"snapshot-id": id, "sequence-number": id, "timestamp-ms": 1795500000000 + id, "schema-id": 1,
         "manifest-list": f"{LOCATION}/metadata/snap-{id}.avro", "summary": {"operation": "append"}, **parent}
        for id, parent in ((1, {}), (2, {"parent-snapshot-id": 1}))
    ]  # fmt: skip
    size = {"snapshot-id": 1, "statistics-path": f"{LOCATION}/metadata/s", "file-size-in-bytes": 9}
    blob = {
        "type": "apache-datasketches-theta-v1",
        "snapshot-id": 1,
        "sequence-number": 1,
        "fields": [1],
        "properties": {"ndv": "1"},
    }
    statistics = {**size, "file-footer-size-in-bytes": 4, "blob-metadata": [blob]}
    ref = {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": 2}
    kept = {"max-ref-age-ms": 9, "max-snapshot-age-ms": 9, "min-snapshots-to-keep": 9}
    updates = [
        {"action": "add-schema", "schema": {"type": "struct", "fields": columns, "identifier-field-ids": [3]}},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": {"fields": [_partition(1, "bucket[16]"), {**_partition(2, "truncate[3]", "y"), "field-id": 1002}]}},
        {"action": "set-default-spec", "spec-id": -1},
        {"action": "add-sort-order", "sort-order": {"order-id": 1, "fields": [_order(1)]}},
        {"action": "set-default-sort-order", "sort-order-id": -1},
        *({"action": "add-snapshot", "snapshot": each} for each in snapshots),
        {**ref, **kept}, {**ref, **kept, "ref-name": "old", "snapshot-id": 1},
        {"action": "set-statistics", "snapshot-id": 1, "statistics": statistics},
        {"action": "set-partition-statistics", "partition-statistics": size},
    ]  # fmt: skip
    base = new_metadata(NewTable(SCHEMA), ID, LOCATION)
    made = build_updated_metadata(base, f"{LOCATION}/metadata/00000-x.metadata.json", UPDATES.validate_python(updates))
    document: Document = json.loads(made.model_dump_json())
    return document


def _whole_view() -> Document:
    version = {
        "version-id": 1,
        "schema-id": 0,
        "timestamp-ms": 1795500000000,
        "summary": {"engine-name": "spark"},
        "representations": [{"type": "sql", "sql": "SELECT 1", "dialect": "spark"}],
        "default-namespace": ["db"],
    }
    made = new_view(NewView(SCHEMA, ViewVersion.model_validate(version)), ID, LOCATION)
    document: Document = json.loads(made.model_dump_json())
    return document


TABLE: Final = _whole_table()
VIEW: Final = _whole_view()


def changed(document: Document, change: Change) -> Document:
    """Return a changed copy of the document."""
    copied = copy.deepcopy(document)
    change(copied)
    return copied


def read_back(document: Document) -> str | None:
    """Return the metadata as Headgate writes it, or None if it cannot be parsed; `InvalidMetadataError` if it is refused."""
    content = json.dumps(document).encode()
    is_view = "view-uuid" in document
    try:
        read: Any = parse_view(content) if is_view else parse_metadata(content)
    except InvalidMetadataError:
        return None
    require_readable_view(read) if is_view else require_readable(read)
    return str(read.model_dump_json())


def _columns(document: Document) -> list[Document]:
    return document["schemas"][-1]["fields"]


def _add_spec(*fields: Document, default: bool = True) -> Change:
    def change(document: Document) -> None:
        document["partition-specs"].append({"spec-id": 7, "fields": list(fields)})
        document["default-spec-id"] = 7 if default else 0

    return change


def _add_order(*fields: Document, id: int = 7, default: bool = True) -> Change:
    def change(document: Document) -> None:
        document["sort-orders"].append({"order-id": id, "fields": list(fields)})
        document["default-sort-order-id"] = id if default else 0

    return change


def _again(key: str) -> Change:
    return lambda document: document[key].append(document[key][-1])


def _summary(value: Any) -> Change:
    return lambda document: document["snapshots"][0]["summary"].update({"said": value})


def _typed(type: str) -> Change:
    return lambda document: _columns(document).append(_column(20, "typed", type))


def _main(snapshot: int) -> Change:
    def change(document: Document) -> None:
        document["snapshots"][1]["snapshot-id"] = snapshot
        document["refs"]["main"]["snapshot-id"] = document["current-snapshot-id"] = snapshot

    return change


def _earlier(log: str, by: int) -> Change:
    return lambda document: document[log].insert(
        0, {**document[log][0], "timestamp-ms": document[log][0]["timestamp-ms"] + by}
    )


UNREADABLE_TABLES: Final[dict[str, tuple[Change, str]]] = {
    "a schema twice": (_again("schemas"), "two schemas have the same id"),
    "a spec twice": (_again("partition-specs"), "two partition specs have the same id"),
    "an order twice": (_again("sort-orders"), "two sort orders have the same id"),
    "a snapshot twice": (_again("snapshots"), "two snapshots have the same id"),
    "no order": (lambda m: m.update({"sort-orders": [], "default-sort-order-id": 0}), "the table has no sort order"),
    "an unsorted order of another id": (_add_order(default=False), "without fields has the id 7; give it the id 0"),
    "an order of a struct": (_add_order(_order(4)), "cannot be used for the column"),
    "an order by a day of a text": (_add_order(_order(2, "day")), "cannot be used for the column"),
    "a void order of a struct": (_add_order(_order(4, "void")), "a missing column, or a struct, list or map"),
    "an unknown order of a list": (_add_order(_order(7, "nonsense")), "a missing column, or a struct, list or map"),
    "an unknown spec of a struct": (
        _add_spec(_partition(4, "nonsense")),
        "the column of the partition field `x` is missing",
    ),
    "an order of no column": (_add_order(_order(77)), "a missing column"),
    "an order of width 0": (_add_order(_order(2, "truncate[0]"), default=False), "above 0"),
    "an order of 33 bits": (_add_order(_order(2, f"truncate[{2**31}]"), default=False), "32 bits"),
    "a spec of no column": (_add_spec(_partition(77)), "the column of the partition field `x` is missing"),
    "a spec of a map's key": (_add_spec(_partition(10)), "the column of the partition field `x` is missing"),
    "a spec of a struct": (_add_spec(_partition(4)), "cannot be used for the column"),
    "a spec by a day of a text": (_add_spec(_partition(2, "day"), default=False), "cannot be used for the column"),
    "a spec of width 0": (_add_spec(_partition(1, "bucket[0]"), default=False), "above 0"),
    "a spec of 33 bits": (_add_spec(_partition(1, f"bucket[{2**31}]"), default=False), "32 bits"),
    "a spec with one name twice": (_add_spec(_partition(1), _partition(2)), "the same name"),
    "a spec without a name": (_add_spec(_partition(1, name="")), "has no name"),
    "a spec with another column's name": (_add_spec(_partition(1, name="part")), "has the name of a column"),
    "two columns with one id": (
        lambda m: _columns(m).append(_column(1, "z", "long")),
        "two columns of a schema have the same id",
    ),
    "a large fixed": (_typed(f"fixed[{2**31}]"), "the column `typed` has a type"),
    "a large scale": (_typed(f"decimal(9, {2**31})"), "the column `typed` has a type"),
    "a geography with an unknown algorithm": (_typed("geography('a', 'nonsense')"), "the column `typed` has a type"),
    "a geometry with a bracket": (_typed("geometry('a)b')"), "the column `typed` has a type"),
    "a snapshot with the id that means none": (_main(-1), "not the snapshot of the branch `main`"),
    "a main branch without a current snapshot": (
        lambda m: m.pop("current-snapshot-id"),
        "not the snapshot of the branch",
    ),
    "another main branch": (lambda m: m["refs"]["main"].update({"snapshot-id": 1}), "not the snapshot of the branch"),
    "a ref to a missing snapshot": (lambda m: m["refs"]["old"].update({"snapshot-id": 9}), "names a snapshot"),
    "a snapshot with a later sequence number": (
        lambda m: m.update({"last-sequence-number": 1}),
        "above the table's `last-sequence-number`",
    ),
    "a first row id below 0": (
        lambda m: m["snapshots"][0].update({"first-row-id": -1, "added-rows": 5}),
        "has one below 0",
    ),
    "added rows below 0": (lambda m: m["snapshots"][0].update({"added-rows": -1}), "has one below 0"),
    "a number in a summary": (_summary(5), "`said` in the summary"),
    "nothing in a summary": (_summary(None), "`said` in the summary"),
    "an object in a summary": (_summary({"a": "b"}), "`said` in the summary"),
    "a snapshot log that goes back": (
        _earlier("snapshot-log", 60_001),
        "an entry of `snapshot-log` or `metadata-log` of the table",
    ),
    "a metadata log that goes back": (
        _earlier("metadata-log", 60_001),
        "an entry of `snapshot-log` or `metadata-log` of the table",
    ),
    "a log with the smallest time": (
        _earlier("snapshot-log", -(2**63)),
        "an entry of `snapshot-log` or `metadata-log` of the table",
    ),
    "an early update": (
        lambda m: m.update({"last-updated-ms": 1}),
        "an entry of `snapshot-log` or `metadata-log` of the table",
    ),
}
"""Metadata that PyIceberg accepts and Java does not, with the words of the refusal."""

READABLE_TABLES: Final[dict[str, Change]] = {
    "nothing changed": lambda m: m,
    "a partition with its own column's name": _add_spec(_partition(1, "bucket[4]", name="n")),
    "a void with its own column's name": _add_spec(_partition(1, "void", name="n")),
    "a spec that once had a column": _add_spec(_partition(77), default=False),
    "a void that had a column": _add_spec(_partition(77, "void")),
    "a void of a struct": _add_spec(_partition(4, "void")),
    "a spec of a nested column": _add_spec(_partition(6, "day")),
    "an order that once had a column": _add_order(_order(77), default=False),
    "an order of a list's element": _add_order(_order(8)),
    "a void order of a struct once": _add_order(_order(4, "void"), default=False),
    "a spec of a map's key once": _add_spec(_partition(10), default=False),
    "an unknown spec of a list once": _add_spec(_partition(7, "nonsense"), default=False),
    "an unknown spec": _add_spec(_partition(1, "nonsense")),
    "an unknown order": _add_order(_order(1, "nonsense")),
    "the widest bucket": _add_spec(_partition(1, f"bucket[{2**31 - 1}]")),
    "the widest fixed": _typed(f"fixed[{2**31 - 1}]"),
    "a negative snapshot": _main(-7),
    "a large snapshot": _main(2**63 - 1),
    "log times that differ by a minute": _earlier("snapshot-log", 60_000),
    "a tag as main": lambda m: m["refs"].update({"main": {"snapshot-id": 2, "type": "tag"}}),
    "statistics twice": _again("statistics"),
    "added rows in version 2": lambda m: m["snapshots"][0].update({"added-rows": 5}),
    "row ids in version 2": lambda m: m["snapshots"][0].update({"first-row-id": 3, "added-rows": 5}),
}

UNREADABLE_VIEWS: Final[dict[str, tuple[Change, str]]] = {
    "a schema twice": (_again("schemas"), "two schemas have the same id"),
    "a version twice": (_again("versions"), "two versions have the same id"),
    "two columns with one id": (
        lambda m: _columns(m).append(_column(1, "z", "long")),
        "two columns of a schema have the same id",
    ),
    "a large fixed": (_typed(f"fixed[{2**31}]"), "the column `typed` has a type"),
    "a large time": (
        lambda m: m["versions"][0].update({"timestamp-ms": 2**70}),
        "`timestamp-ms` of the metadata is out of range",
    ),
}


@pytest.mark.parametrize("case", UNREADABLE_TABLES)
def test_a_table_that_java_does_not_open_is_refused_with_the_fault(case: str) -> None:
    change, words = UNREADABLE_TABLES[case]

    with pytest.raises(InvalidMetadataError, match=words):
        read_back(changed(TABLE, change))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_add_spec(_partition(1), _partition(2, name="y")), "fields of a spec have the same id"),
        (
            lambda m: m.update({"sort-orders": [{"order-id": 0, "fields": [_order(1)]}], "default-sort-order-id": 0}),
            "with fields has the id 0",
        ),
    ],
    ids=["a partition field's id twice", "a sorted order of the id 0"],
)
def test_a_wrong_id_is_refused_with_its_own_fault(change: Change, words: str) -> None:
    with pytest.raises(InvalidMetadataError, match=words):
        read_back(changed(TABLE, change))


@pytest.mark.parametrize("case", UNREADABLE_VIEWS)
def test_a_view_that_java_does_not_open_is_refused_with_the_fault(case: str) -> None:
    change, words = UNREADABLE_VIEWS[case]

    with pytest.raises(InvalidMetadataError, match=words):
        read_back(changed(VIEW, change))


@pytest.mark.parametrize("case", READABLE_TABLES)
def test_a_table_that_java_opens_is_not_refused(case: str) -> None:
    assert read_back(changed(TABLE, READABLE_TABLES[case])) is not None
