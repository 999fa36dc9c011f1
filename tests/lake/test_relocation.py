"""Paths in a table's files after a move, for files that Spark wrote."""

import io
from pathlib import Path
from typing import Any

import fastavro
import pytest

from headgate.lake.errors import InvalidMetadataError, RuleError
from headgate.lake.relocation import Relocation, manifests_of, position_deletes_of

FIXTURES = Path(__file__).parents[1] / "untrusted_input" / "fixtures"
LISTS = sorted(FIXTURES.glob("list_*.avro"))
MANIFESTS = sorted(FIXTURES.glob("manifest_*.avro"))


def records(content: bytes) -> list[dict[str, Any]]:
    return list(fastavro.reader(io.BytesIO(content)))  # type: ignore[arg-type]


def header(content: bytes) -> dict[str, Any]:
    """Return the metadata of the file, including its schema."""
    reader: Any = fastavro.reader(io.BytesIO(content))
    return {key: value for key, value in reader.metadata.items() if key != "avro.schema"} | {"": reader.writer_schema}


def location(path: str) -> str:
    return path.partition("/metadata/" if "/metadata/" in path else "/data/")[0]


@pytest.mark.parametrize("file", MANIFESTS, ids=lambda file: file.stem)
def test_a_relocated_manifest_differs_in_its_paths_only(file: Path) -> None:
    before = file.read_bytes()
    old = location(records(before)[0]["data_file"]["file_path"])
    move = Relocation(old, "file:///new/place")

    after = move.manifest(before, {})

    back = Relocation("file:///new/place", old).manifest(after, {})
    assert records(back) == records(Relocation(old, old).manifest(before, {}))
    assert header(after) == header(before)
    for was, now in zip(records(before), records(after), strict=True):
        tail = was["data_file"]["file_path"].removeprefix(old)
        assert now["data_file"]["file_path"] == f"file:///new/place{tail}"
        assert now | {"data_file": None} == was | {"data_file": None}


@pytest.mark.parametrize("file", LISTS, ids=lambda file: file.stem)
def test_a_relocated_manifest_list_differs_in_its_paths_and_lengths_only(file: Path) -> None:
    before = file.read_bytes()
    paths = manifests_of(before)
    move = Relocation(location(paths[0]), "file:///new/place")
    lengths = {move.path(path): number for number, path in enumerate(paths)}

    after = records(move.manifest_list(before, lengths))

    assert [each["manifest_path"] for each in after] == list(lengths)
    assert [each["manifest_length"] for each in after] == list(range(len(paths)))
    left = ("manifest_path", "manifest_length")
    assert [{k: v for k, v in each.items() if k not in left} for each in after] == [
        {k: v for k, v in each.items() if k not in left} for each in records(before)
    ]


def test_position_deletes_of_a_manifest_are_found() -> None:
    content = (FIXTURES / "manifest_of_position_deletes.avro").read_bytes()

    assert [path.endswith(".parquet") for path in position_deletes_of(content)] == [True] * len(records(content))
    assert position_deletes_of((FIXTURES / "manifest_by_two_columns.avro").read_bytes()) == []


def test_a_path_outside_the_table_is_refused() -> None:
    content = (FIXTURES / "manifest_by_two_columns.avro").read_bytes()
    move = Relocation("file:///elsewhere", "file:///new/place")

    with pytest.raises(RuleError):
        move.manifest(content, {})
    with pytest.raises(RuleError):
        move.metadata({"location": "file:///elsewhere", "snapshots": [{"manifest-list": "file:///other/x"}]})


@pytest.mark.parametrize("content", [b"", b"Obj\x01", b"x" * 100])
def test_a_file_that_is_no_manifest_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidMetadataError):
        manifests_of(content)
