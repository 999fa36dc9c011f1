"""Metadata of format version 3 is read, checked and written whole, also what PyIceberg's models cannot express."""

import json

import pytest
from pyiceberg.table.update import UpgradeFormatVersionUpdate

from headgate.lake.errors import InvalidMetadataError
from headgate.lake.java_metadata_rules import require_readable
from headgate.lake.metadata import build_updated_metadata, parse_metadata
from tests.lake.table_v3 import READABLE, TABLE_V3, UNREADABLE
from tests.lake.test_java_metadata_rules import TABLE, Document, changed


def _require(document: Document) -> str:
    read = parse_metadata(json.dumps(document).encode())
    require_readable(read)
    return read.model_dump_json()


def test_metadata_of_version_3_is_written_as_it_was_read() -> None:
    written = json.loads(_require(TABLE_V3))

    assert written["next-row-id"] == 10
    assert written["snapshots"] == TABLE_V3["snapshots"]
    assert [each["type"] for each in written["schemas"][-1]["fields"]] == [
        each["type"] for each in TABLE_V3["schemas"][-1]["fields"]
    ]
    assert _require(written) == json.dumps(written, separators=(",", ":"), ensure_ascii=False)


@pytest.mark.parametrize("case", READABLE)
def test_a_table_of_version_3_is_accepted(case: str) -> None:
    document = changed(TABLE_V3, READABLE[case])

    written = json.loads(_require(document))

    assert _require(written) == _require(document)


@pytest.mark.parametrize("case", UNREADABLE)
def test_a_malformed_table_of_version_3_is_refused(case: str) -> None:
    with pytest.raises(InvalidMetadataError):
        _require(changed(TABLE_V3, UNREADABLE[case]))


def test_a_table_of_version_2_with_row_ids_in_its_history_is_upgraded_without_them() -> None:
    document = changed(TABLE, lambda found: found["snapshots"][1].update({"first-row-id": 3, "added-rows": 5}))
    former = parse_metadata(json.dumps(document).encode())
    upgrade = UpgradeFormatVersionUpdate.model_validate({"format-version": 3})

    upgraded = build_updated_metadata(former, None, [upgrade])

    assert [(each.first_row_id, each.added_rows) for each in upgraded.snapshots] == [(None, None)] * 2


def test_a_type_of_version_3_is_refused_in_a_table_of_version_2() -> None:
    document = changed(TABLE, lambda found: found["schemas"][-1]["fields"][0].update({"type": "variant"}))

    with pytest.raises(InvalidMetadataError):
        _require(document)


def test_a_name_that_occurs_twice_in_metadata_is_refused() -> None:
    text = json.dumps(TABLE_V3).replace('"next-row-id": 10', '"next-row-id": 10, "next-row-id": 99')

    with pytest.raises(InvalidMetadataError):
        parse_metadata(text.encode())


@pytest.mark.parametrize("kind", ["partition-specs", "sort-orders"])
def test_a_transform_of_several_columns_is_refused(kind: str) -> None:
    document = changed(TABLE_V3, lambda found: found[kind][-1]["fields"][0].update({"source-ids": [1, 2]}))

    with pytest.raises(InvalidMetadataError, match="several `source-ids`"):
        _require(document)
