"""Metadata of format version 1 is read as Java reads it, stays in version 1, and is written with consistent fields."""

import json
from typing import Any

import pytest
from pydantic import TypeAdapter
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil, TableMetadataV1
from pyiceberg.table.update import TableUpdate

from headgate.lake.errors import ConflictError, InvalidMetadataError
from headgate.lake.java_metadata_rules import require_readable
from headgate.lake.metadata import build_updated_metadata, parse_metadata
from tests.lake.table_v1 import EARLY, READABLE, TABLE_V1, UNREADABLE, UNSUPPORTED, UNUSED, Document, spec
from tests.lake.test_java_metadata_rules import LOCATION, changed

UPDATES: TypeAdapter[tuple[TableUpdate, ...]] = TypeAdapter(tuple[TableUpdate, ...])
PATH = f"{LOCATION}/metadata/00000-x.metadata.json"


def _parse(document: Document) -> TableMetadata:
    return parse_metadata(json.dumps(document).encode())


def _read(document: Document) -> Document:
    """Return the metadata as Headgate writes it."""
    read = _parse(document)
    require_readable(read)
    written: Document = json.loads(read.model_dump_json())
    return written


def _updated(document: Document, *updates: Document) -> TableMetadata:
    return build_updated_metadata(_parse(document), PATH, UPDATES.validate_python(updates))


def _upgrade(version: int) -> Document:
    return {"action": "upgrade-format-version", "format-version": version}


def _snapshot(**more: Any) -> Document:
    made = {
        "snapshot-id": 3,
        "parent-snapshot-id": 2,
        "timestamp-ms": 1795500000009,
        "manifest-list": f"{LOCATION}/metadata/snap-3.avro",
        "summary": {"operation": "append"},
        **{key.replace("_", "-"): value for key, value in more.items()},
    }
    return {"action": "add-snapshot", "snapshot": made}


@pytest.mark.parametrize("case", READABLE)
def test_metadata_of_version_1_is_read_and_written_as_version_1(case: str) -> None:
    document, change = READABLE[case]

    written = _read(changed(document, change))

    assert written["format-version"] == 1
    assert "last-sequence-number" not in written
    assert not any("sequence-number" in each for each in written["snapshots"])
    current = next(each for each in written["schemas"] if each["schema-id"] == written["current-schema-id"])
    default = next(each for each in written["partition-specs"] if each["spec-id"] == written["default-spec-id"])
    assert (written["schema"], written["partition-spec"]) == (current, default["fields"])
    assert _read(written) == written


@pytest.mark.parametrize("case", READABLE)
def test_pyiceberg_reads_what_headgate_writes(case: str) -> None:
    written = json.dumps(_read(changed(*READABLE[case])))

    read = TableMetadataUtil.parse_raw(written)

    assert isinstance(read, TableMetadataV1)
    assert read.schema() == read.schema_


def test_metadata_of_an_early_library_gets_the_fields_of_later_ones() -> None:
    written = _read(EARLY)

    assert [each["schema-id"] for each in written["schemas"]] == [written["current-schema-id"]]
    [only] = written["partition-specs"]
    assert [each["field-id"] for each in only["fields"]] == [1000, 1001]
    assert (written["last-partition-id"], written["sort-orders"]) == (1001, [{"order-id": 0, "fields": []}])
    assert written["refs"] == {"main": {"snapshot-id": 2, "type": "branch"}}


@pytest.mark.parametrize("case", UNREADABLE)
def test_metadata_that_java_or_pyiceberg_cannot_read_is_refused(case: str) -> None:
    document, change, words = UNREADABLE[case]

    with pytest.raises(InvalidMetadataError, match=words):
        _read(changed(document, change))


@pytest.mark.parametrize("case", [*UNUSED, *UNSUPPORTED])
def test_metadata_with_specs_or_features_that_are_not_supported_is_refused(case: str) -> None:
    change, words = (UNUSED | UNSUPPORTED)[case]

    with pytest.raises(InvalidMetadataError, match=words):
        _read(changed(TABLE_V1, change))


def test_a_removed_spec_does_not_free_its_partition_ids() -> None:
    grown = changed(TABLE_V1, spec((1, "bucket[16]", 1000), (2, "truncate[3]", 1001), (3, "identity", 1002)))

    shrunk = _updated(grown, {"action": "remove-partition-specs", "spec-ids": [7]})

    assert shrunk.last_partition_id == 1009


def test_a_commit_updates_the_copies_of_the_current_schema_and_spec() -> None:
    column = {"id": 20, "name": "added", "type": "int", "required": False}
    fields = [
        *TABLE_V1["partition-spec"],
        {"source-id": 3, "field-id": 1002, "name": "k", "transform": "identity"},
    ]

    made = _updated(
        TABLE_V1,
        {"action": "add-schema", "schema": {"type": "struct", "fields": [*TABLE_V1["schema"]["fields"], column]}},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": {"spec-id": 2, "fields": fields}},
        {"action": "set-default-spec", "spec-id": -1},
    )

    written = json.loads(made.model_dump_json())
    assert written["schema"]["fields"][-1] == column
    assert [each["field-id"] for each in written["partition-spec"]] == [1000, 1001, 1002]


@pytest.mark.parametrize("number", [1, 2, -1, 1 << 62])
def test_a_new_snapshot_with_a_sequence_number_is_refused(number: int) -> None:
    with pytest.raises(InvalidMetadataError, match="has a `sequence-number`"):
        _updated(TABLE_V1, _snapshot(sequence_number=number))


@pytest.mark.parametrize("more", [{}, {"sequence_number": 0}])
def test_a_new_snapshot_without_a_sequence_number_is_added(more: dict[str, int]) -> None:
    made = _updated(TABLE_V1, _snapshot(**more))

    assert (made.format_version, [each.snapshot_id for each in made.snapshots]) == (1, [1, 2, 3])


def test_a_new_snapshot_with_row_ids_is_refused() -> None:
    with pytest.raises(InvalidMetadataError, match="format version 1 do not have"):
        _updated(TABLE_V1, _snapshot(first_row_id=0, added_rows=1))


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("document", [TABLE_V1, EARLY], ids=["table", "early"])
def test_an_upgraded_table_begins_with_the_sequence_number_0(document: Document, version: int) -> None:
    made: Any = _updated(document, _upgrade(version))

    written = json.loads(made.model_dump_json())
    assert (written["format-version"], written["last-sequence-number"]) == (version, 0)
    assert written.keys().isdisjoint({"schema", "partition-spec"})
    assert written.get("next-row-id") == (0 if version == 3 else None)
    assert [each["snapshot-id"] for each in written["snapshots"]] == [1, 2]


@pytest.mark.parametrize(("number", "status"), [(0, ConflictError), (1, None), (5_000, InvalidMetadataError)])
def test_the_first_snapshot_after_an_upgrade_needs_a_sequence_number(
    number: int, status: type[Exception] | None
) -> None:
    upgraded = json.loads(_updated(TABLE_V1, _upgrade(2)).model_dump_json())

    if status is None:
        made: Any = _updated(upgraded, _snapshot(sequence_number=number))
        assert made.last_sequence_number == number
        return
    with pytest.raises(status, match="`sequence-number` of a new snapshot"):
        _updated(upgraded, _snapshot(sequence_number=number))


@pytest.mark.parametrize(("was", "version"), [(2, 1), (1, 0), (1, 4), (1, -1)])
def test_a_downgrade_or_an_unknown_version_is_refused(was: int, version: int) -> None:
    document = json.loads(_updated(TABLE_V1, _upgrade(was)).model_dump_json())

    with pytest.raises(InvalidMetadataError, match="the supported format versions are 1, 2 and 3"):
        _updated(document, _upgrade(version))
