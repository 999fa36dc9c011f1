"""Manifest lists and manifests: the parser reads them as PyIceberg does, and refuses anything else."""

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import (
    DATA_FILE_TYPE,
    MANIFEST_LIST_FILE_SCHEMAS,
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    PartitionFieldSummary,
    read_manifest_list,
    write_manifest,
    write_manifest_list,
)
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestamptzType,
    UUIDType,
)

from headgate.untrusted_input import manifests
from headgate.untrusted_input.avro import read_records
from headgate.untrusted_input.manifest_answers import unpack_files, unpack_manifests
from headgate.untrusted_input.manifests import MANIFEST, MANIFEST_LIST, read_manifest
from tests.avro_files import FILE, LIST, avro, field, file_values, listed, number, record, text

IO = PyArrowFileIO()
FIXTURES = Path(__file__).parent / "fixtures"
"""Files that Spark wrote with Iceberg's Java library."""
SCHEMA = Schema(NestedField(1, "name", StringType()), NestedField(2, "amount", LongType()))
SPEC = PartitionSpec(
    PartitionField(1, 1000, IdentityTransform(), "name"), PartitionField(2, 1001, BucketTransform(8), "amount_bucket")
)

PARTITION = 102
"""The partition record; its fields depend on the table, so the tests compare it separately."""

longs = st.integers(-(2**63), 2**63 - 1)
sizes = st.integers(0, 2**63 - 1)
# PyIceberg 0.12 reads negative numbers in arrays and maps as huge numbers; valid Iceberg files have none there.
counts = st.none() | st.dictionaries(st.integers(0, 2**31 - 1), sizes, max_size=4)
bounds = st.none() | st.dictionaries(st.integers(0, 2**31 - 1), st.binary(max_size=40), max_size=4)
texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=60)


@st.composite
def entries(draw: st.DrawFn) -> ManifestEntry:
    file = DataFile.from_args(
        content=draw(st.sampled_from(DataFileContent)),
        file_path=draw(texts),
        file_format=draw(st.sampled_from(FileFormat)),
        partition=Record(draw(st.none() | texts), draw(st.none() | st.integers(0, 7))),
        record_count=draw(sizes),
        file_size_in_bytes=draw(sizes),
        column_sizes=draw(counts),
        value_counts=draw(counts),
        null_value_counts=draw(counts),
        nan_value_counts=draw(counts),
        lower_bounds=draw(bounds),
        upper_bounds=draw(bounds),
        key_metadata=draw(st.none() | st.binary(max_size=9)),
        split_offsets=draw(st.none() | st.lists(sizes, max_size=4)),
        equality_ids=draw(st.none() | st.lists(st.integers(0, 99), max_size=4)),
        sort_order_id=draw(st.none() | st.integers(0, 99)),
    )
    file.spec_id = 0
    return ManifestEntry.from_args(
        status=draw(st.sampled_from(ManifestEntryStatus)),
        snapshot_id=draw(longs),
        sequence_number=draw(sizes),
        file_sequence_number=draw(sizes),
        data_file=file,
    )


@st.composite
def listed_manifests(draw: st.DrawFn) -> ManifestFile:
    summary = st.builds(
        PartitionFieldSummary,
        st.booleans(),
        st.none() | st.booleans(),
        st.none() | st.binary(max_size=9),
        st.none() | st.binary(max_size=9),
    )
    numbers = {each.name: draw(sizes) for each in MANIFEST_LIST_FILE_SCHEMAS[2].fields if each.field_type == LongType()}
    return ManifestFile.from_args(
        2,
        **numbers,
        manifest_path=draw(texts),
        partition_spec_id=draw(st.integers(0, 99)),
        content=draw(st.sampled_from(ManifestContent)),
        added_files_count=draw(st.integers(0, 99)),
        existing_files_count=draw(st.integers(0, 99)),
        deleted_files_count=draw(st.integers(0, 99)),
        partitions=draw(st.none() | st.lists(summary, max_size=3)),
        key_metadata=draw(st.none() | st.binary(max_size=9)),
    )


def by_field(value: Any, type: StructType) -> dict[int, Any]:
    """Return a record of PyIceberg as a dictionary by field id."""
    pairs = zip(type.fields, (value[position] for position in range(len(value))), strict=True)
    return {each.field_id: _plain(part, each.field_type) for each, part in pairs if each.field_id != PARTITION}


def _plain(value: Any, type: Any) -> Any:
    if isinstance(value, Record):
        return by_field(value, type)
    if isinstance(value, list):
        return [_plain(each, type.element_type) for each in value]
    return getattr(value, "value", value)


def with_all_fields(found: Mapping[int, Any], type: StructType, **defaults: Any) -> dict[int, Any]:
    """Return a record that was read, with the fields that its file lacks set as PyIceberg sets them."""
    there = {each.field_id: None for each in type.fields} | {int(id): value for id, value in defaults.items()}
    return there | {id: value for id, value in found.items() if id in there}


def write_entries(path: str, version: Any, codec: Any, *written: ManifestEntry) -> ManifestFile:
    with write_manifest(version, SPEC, SCHEMA, IO.new_output(path), 7, codec) as writer:
        for each in written:
            writer.add_entry(each)
    return writer.to_manifest_file()


class TestEqualReadings:
    """Headgate reads a manifest as PyIceberg does, field by field."""

    @settings(max_examples=60, deadline=None)
    @given(
        written=st.lists(entries(), min_size=1, max_size=4),
        version=st.sampled_from([1, 2]),
        codec=st.sampled_from(["null", "deflate", "zstandard"]),
    )
    def test_manifests_of_pyiceberg_are_read_as_pyiceberg_reads_them(
        self, tmp_path_factory: pytest.TempPathFactory, written: list[ManifestEntry], version: int, codec: str
    ) -> None:
        path = str(tmp_path_factory.getbasetemp() / "m.avro")
        if version == 1:
            written = [_of_version_1(each) for each in written]
        manifest = write_entries(path, version, codec, *written)

        same_as_pyiceberg(manifest, Path(path).read_bytes())

    @settings(max_examples=60, deadline=None)
    @given(
        written=st.lists(listed_manifests(), max_size=4),
        version=st.sampled_from([1, 2]),
        codec=st.sampled_from(["null", "deflate", "zstandard"]),
    )
    def test_manifest_lists_of_pyiceberg_are_read_as_pyiceberg_reads_them(
        self, tmp_path_factory: pytest.TempPathFactory, written: list[ManifestFile], version: Any, codec: Any
    ) -> None:
        path = str(tmp_path_factory.getbasetemp() / "l.avro")
        for each in written if version == 1 else ():
            each[3] = ManifestContent.DATA
        with write_manifest_list(version, IO.new_output(path), 7, None, 1, codec) as writer:
            writer.add_manifests(written)

        same_list_as_pyiceberg(path)

    @pytest.mark.parametrize("name", sorted(each.name for each in FIXTURES.glob("*.avro")))
    def test_manifests_of_spark_are_read_as_pyiceberg_reads_them(self, name: str) -> None:
        path = FIXTURES / name
        if name.startswith("list"):
            same_list_as_pyiceberg(str(path))
        else:
            manifest = ManifestFile.from_args(manifest_path=str(path), partition_spec_id=0, sequence_number=3)
            same_as_pyiceberg(manifest, path.read_bytes())

    def test_first_row_ids_and_deletion_vectors_of_version_3_are_read(self) -> None:
        data = record(*(field(id, str(id), type) for id, type in FILE.items()), *_optional(142, 144, 145))
        schema = record(field(0, "status", "int"), field(2, "data_file", data))
        values = file_values("p") + b"".join(number(1) + number(each) for each in (5, 6, 7))

        manifest = avro(schema, 1, number(1) + values)
        manifest_list = avro(record(*LIST["fields"], *_optional(520)), 1, listed("p") + number(1) + number(9))
        [found] = read_records(manifest, MANIFEST)
        [first] = read_records(manifest_list, MANIFEST_LIST)
        [file] = unpack_files(read_manifest(manifest))
        [answer] = unpack_manifests(manifests.read_manifest_list(manifest_list))

        assert {id: found[2][id] for id in (142, 144, 145)} == {142: 5, 144: 6, 145: 7}
        assert first[520] == 9
        assert file.first_row_id == 5
        assert (answer.first_row_id, answer.added_rows, answer.existing_rows, answer.is_data) == (9, 2, 0, True)

    @pytest.mark.parametrize(
        ("content", "format", "found"),
        [(1, "PUFFIN", "d"), (1, "PARQUET", "d"), (0, "PARQUET", None), (2, "PARQUET", None)],
    )
    def test_the_data_file_of_position_deletes_is_read(self, content: int, format: str, found: str | None) -> None:
        data = record(*(field(id, str(id), type) for id, type in FILE.items()), field(143, "f", ["null", "string"]))
        schema = record(field(0, "status", "int"), field(2, "data_file", data))
        values = number(1) + file_values("p", format, content) + number(1) + text("d")

        [file] = unpack_files(read_manifest(avro(schema, 1, values)))

        assert (file.path, file.deletes_of) == ("p", found)

    def test_partition_values_of_every_type_are_read(self, tmp_path: Path) -> None:
        types = [BooleanType(), DateType(), DecimalType(9, 2), DoubleType(), TimestamptzType(), UUIDType()]
        schema = Schema(*(NestedField(id, f"c{id}", type) for id, type in enumerate(types, 1)))
        spec = PartitionSpec(*(PartitionField(id, 999 + id, IdentityTransform(), f"c{id}") for id in range(1, 7)))
        path = str(tmp_path / "m.avro")
        with write_manifest(2, spec, schema, IO.new_output(path), 7, "deflate") as writer:
            writer.add_entry(_entry("p", Record(True, 3, None, 0.5, 9, b"u" * 16)))  # noqa: FBT003 (a value)

        [found] = read_records(Path(path).read_bytes(), MANIFEST)

        assert found[2][102] == {
            1000: True,
            1001: 3,
            1002: None,
            1003: b"\0\0\0\0\0\0\xe0\x3f",
            1004: 9,
            1005: b"u" * 16,
        }


def same_as_pyiceberg(manifest: ManifestFile, data: bytes) -> None:
    theirs = manifest.fetch_manifest_entry(IO, discard_deleted=False)
    ours = list(read_records(data, MANIFEST))
    file_type = StructType(*(each for each in DATA_FILE_TYPE[2].fields if each.field_id != PARTITION))
    assert len(ours) == len(theirs)
    for mine, entry in zip(ours, theirs, strict=True):
        partition = entry.data_file.partition
        assert with_all_fields(mine[2], file_type, **{"134": 0}) == by_field(entry.data_file, DATA_FILE_TYPE[2])
        values = [_undecoded(partition[position]) for position in range(len(partition))]
        assert list(mine[2][PARTITION].values()) == values
        assert (mine[0], mine.get(1)) == (entry.status, entry.snapshot_id)
    answers = list(unpack_files(read_manifest(data)))
    assert [each.path for each in answers] == [each.data_file.file_path for each in theirs]
    assert [each.status for each in answers] == [each.status for each in theirs]
    assert [each.content for each in answers] == [each.data_file.content for each in theirs]


def _undecoded(value: Any) -> Any:
    """Return a partition value as the file has it."""
    if isinstance(value, Decimal):
        return int(value.scaleb(2)).to_bytes(4, "big", signed=True)
    return value


def same_list_as_pyiceberg(path: str) -> None:
    type = MANIFEST_LIST_FILE_SCHEMAS[2].as_struct()
    theirs = [by_field(each, type) for each in read_manifest_list(IO.new_input(path))]
    data = Path(path).read_bytes()
    ours = [with_all_fields(each, type, **{"515": 0, "516": 0, "517": 0}) for each in read_records(data, MANIFEST_LIST)]
    assert ours == theirs
    answers = list(unpack_manifests(manifests.read_manifest_list(data)))
    assert [(each.path, each.partition_spec_id, each.sequence_number) for each in answers] == [
        (each[500], each[502], each[515]) for each in theirs
    ]
    assert [each.is_encrypted for each in answers] == [bool(each[519]) for each in theirs]
    assert [each.is_data for each in answers] == [each[517] == ManifestContent.DATA for each in theirs]
    assert [(each.added_rows, each.existing_rows) for each in answers] == [(each[512], each[513]) for each in theirs]


def _of_version_1(entry: ManifestEntry) -> ManifestEntry:
    entry.data_file[0] = DataFileContent.DATA
    return entry


def _entry(path: str, partition: Record, **more: Any) -> ManifestEntry:
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=path,
        file_format=FileFormat.PARQUET,
        partition=partition,
        record_count=2,
        file_size_in_bytes=900,
        **more,
    )
    file.spec_id = 0
    return ManifestEntry.from_args(
        status=ManifestEntryStatus.ADDED, snapshot_id=7, sequence_number=1, file_sequence_number=1, data_file=file
    )


def _optional(*ids: int) -> list[dict[str, Any]]:
    return [field(id, str(id), ["null", "long"]) for id in ids]


class TestIdentities:
    """Two records have the same identity exactly if every value that a scan uses is equal."""

    def _identity(self, tmp_path: Path, **more: Any) -> bytes:
        path = str(tmp_path / "m.avro")
        write_entries(path, 2, more.pop("codec", "null"), _entry("p", more.pop("partition", Record("a", 1)), **more))
        [found] = unpack_files(read_manifest(Path(path).read_bytes()))
        return found.identity

    def test_the_same_values_have_one_identity(self, tmp_path: Path) -> None:
        plain = self._identity(tmp_path, value_counts={1: 2, 3: 4}, lower_bounds={})

        assert plain == self._identity(tmp_path, value_counts={3: 4, 1: 2}, lower_bounds=None, codec="deflate")

    @pytest.mark.parametrize(
        "other",
        [
            {"value_counts": {1: 2, 3: 5}},
            {"value_counts": {1: 2}},
            {"lower_bounds": {1: b"x"}},
            {"upper_bounds": {1: b"x"}},
            {"partition": Record("b", 1)},
            {"partition": Record("a", None)},
            {"equality_ids": [1]},
            {"sort_order_id": 1},
        ],
    )
    def test_another_value_changes_the_identity(self, tmp_path: Path, other: dict[str, Any]) -> None:
        assert self._identity(tmp_path) != self._identity(tmp_path, **other)

    def test_another_referenced_data_file_changes_the_identity(self) -> None:
        data = record(*(field(id, str(id), type) for id, type in FILE.items()), field(143, "f", ["null", "string"]))
        schema = record(field(0, "status", "int"), field(2, "data_file", data))

        files = [
            next(unpack_files(read_manifest(avro(schema, 1, number(1) + file_values("p") + number(1) + text(each)))))
            for each in ("one", "other")
        ]

        assert files[0].identity != files[1].identity
