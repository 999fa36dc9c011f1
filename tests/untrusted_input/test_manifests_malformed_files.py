"""Malformed manifest files: refused with a message, within a limit of memory, for any bytes."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.untrusted_input import manifests
from headgate.untrusted_input.avro import MAX_SCHEMA_BYTES
from headgate.untrusted_input.errors import OversizedInputError, UnreadableInputError
from headgate.untrusted_input.manifest_answers import unpack_files, unpack_manifests
from headgate.untrusted_input.manifests import read_manifest
from tests.avro_files import (
    ENTRY,
    FILE,
    LIST,
    SYNC,
    avro,
    block,
    deflated,
    field,
    file_values,
    header,
    listed,
    number,
    record,
    text,
)

BLOCK = listed("p")
SCHEMAS: dict[str, Any] = {
    "another field": record(*LIST["fields"], field(1, "d", "int")),
    "a decimal": record(
        *LIST["fields"],
        field(519, "d", {"type": "bytes", "logicalType": "decimal", "precision": 38}),
        field(999, "d", "int"),
    ),
    "another type": record(*LIST["fields"][1:], field(500, "manifest_path", "long")),
    "a map": record(*LIST["fields"], field(507, "partitions", {"type": "map", "values": "string"})),
    "no path": record(*LIST["fields"][1:]),
    "one id twice": record(*LIST["fields"], LIST["fields"][0]),
    "no id": record(*LIST["fields"], {"name": "a", "type": "int"}),
    "an id that is no number": record(*LIST["fields"], {"name": "a", "type": "int", "field-id": True}),
    "a union of three": record(*LIST["fields"], field(520, "a", ["null", "long", "string"])),
    "a union without null": record(*LIST["fields"], field(520, "a", ["long", "null"])),
    "a name for a type": record(*LIST["fields"], field(507, "a", {"type": "array", "items": "r"})),
    "too many fields": record(*(field(id, str(id), "int") for id in range(1001))),
    "no record": {"type": "array", "items": "string"},
    "no JSON": "{",
    "a name twice": '{"type": "record", "type": "record", "fields": []}',
    "nothing": "null",
    "deep arrays": "[" * 100_000,
    "too large": record(*LIST["fields"], {"doc": "x" * MAX_SCHEMA_BYTES}),
}
FILES: dict[str, bytes] = {
    "nothing": b"",
    "another format": b"PAR1" + b"\0" * 99,
    "a length that goes beyond the block": avro(LIST, 1, number(100_000) + b"x" * 40),
    "a length of a gibibyte": avro(LIST, 1, number(1 << 30) + b"x" * 40),
    "a length of 32 tebibytes": avro(LIST, 1, number(1 << 45) + b"x" * 40),
    "a negative length": avro(LIST, 1, number(-5) + b"x" * 40),
    "a block of a negative length": header(LIST) + number(1) + number(-5) + SYNC,
    "2^40 records": avro(LIST, 1 << 40, BLOCK),
    "a negative count": avro(LIST, -1, BLOCK),
    "more records than there are": avro(LIST, 2, BLOCK),
    "fewer records than there are": avro(LIST, 1, BLOCK * 2),
    "records after an empty block": header(LIST) + block(0, b"") + block(1, BLOCK),
    "endless empty blocks": header(LIST) + block(0, b"") * 50_000,
    "another marker": avro(LIST, 1, BLOCK)[:-1] + b"T",
    "a number of more than 64 bits": avro(LIST, 1, text("p") + b"\xff" * 9 + b"\x7f"),
    "a number without an end": avro(LIST, 1, text("p") + b"\xff" * 99),
    "a text that is not UTF-8": avro(LIST, 1, listed("p").replace(b"p", b"\xff")),
    "a header with an entry twice": header(LIST, "null", {}).replace(number(2), number(3), 1)[:-17]
    + text("avro.codec")
    + text("null")
    + number(0)
    + SYNC,
    "a header of 2^40 entries": b"Obj\x01" + number(1 << 40) + text("a") + text("b"),
    "deflate that is cut off": header(LIST, "deflate") + block(1, deflated(BLOCK)[:-2]),
    "deflate with bytes after it": header(LIST, "deflate") + block(1, deflated(BLOCK) + b"12345"),
    "no deflate": header(LIST, "deflate") + block(1, b"\xff" * 99),
    "no zstandard": header(LIST, "zstandard") + block(1, b"\xff" * 99),
    "zstandard with a window of a gibibyte": header(LIST, "zstandard")
    + block(1, b"\x28\xb5\x2f\xfd\x00\xa0" + b"\0" * 9),
    "the codec bzip2": header(LIST, "bzip2") + block(1, BLOCK),
    "the codec snappy": header(LIST, "snappy") + block(1, BLOCK),
    "no path": avro(record(field(500, "p", ["null", "string"]), *LIST["fields"][1:]), 1, number(0) + listed("p")[2:]),
    "an array of 2^40 items": avro(
        record(*LIST["fields"], field(507, "a", {"type": "array", "items": record(field(509, "n", "boolean"))})),
        1,
        BLOCK + number(1 << 40),
    ),
}


class TestMalformedFiles:
    @pytest.mark.parametrize("name", FILES)
    def test_a_malformed_list_is_refused(self, name: str) -> None:
        with pytest.raises(UnreadableInputError):
            manifests.read_manifest_list(FILES[name])

    @pytest.mark.parametrize("name", SCHEMAS)
    def test_a_schema_other_than_icebergs_is_refused(self, name: str) -> None:
        with pytest.raises(UnreadableInputError):
            manifests.read_manifest_list(avro(SCHEMAS[name], 1, BLOCK))

    @pytest.mark.parametrize("length", range(0, len(avro(LIST, 1, BLOCK)), 7))
    def test_a_list_that_is_cut_off_is_refused(self, length: int) -> None:
        whole = avro(LIST, 1, BLOCK)
        cut = whole[:length]
        if cut == header(LIST):
            return

        with pytest.raises(UnreadableInputError):
            manifests.read_manifest_list(cut)

    @settings(max_examples=300, deadline=None)
    @given(at=st.integers(0, 2**31), value=st.integers(0, 255))
    def test_a_changed_byte_is_refused_or_read(self, at: int, value: int) -> None:
        data = bytearray(avro(ENTRY, 2, (number(1) + file_values("p")) * 2))
        data[at % len(data)] = value

        with suppress(UnreadableInputError):
            list(unpack_files(read_manifest(data)))

    @settings(max_examples=200, deadline=None)
    @given(data=st.binary(max_size=200), count=st.integers(0, 5))
    def test_any_bytes_after_a_header_are_refused_or_read(self, data: bytes, count: int) -> None:
        with suppress(UnreadableInputError):
            list(unpack_files(read_manifest(avro(ENTRY, count, data))))

    @pytest.mark.parametrize(
        "change",
        [
            lambda: (number(3) + file_values("p"), ENTRY),
            lambda: (number(1) + number(7) + file_values("p")[1:], ENTRY),
            lambda: (number(1) + file_values("p", "TEXT"), ENTRY),
        ],
        ids=["status", "content", "format"],
    )
    def test_a_code_that_iceberg_does_not_have_is_refused(self, change: Callable[[], tuple[bytes, Any]]) -> None:
        data, schema = change()

        with pytest.raises(
            UnreadableInputError, match=r"an entry of the manifest has a `(file_format|status|content)`"
        ):
            read_manifest(avro(schema, 1, data))

    def test_a_partition_field_with_an_invalid_id_or_type_is_refused(self) -> None:
        for inner in (
            field(100, "a", "int"),
            field(1000, "a", record()),
            field(1000, "a", {"type": "fixed", "size": 0}),
        ):
            data = record(*(field(id, str(id), record(inner) if id == 102 else type) for id, type in FILE.items()))
            schema = record(field(0, "status", "int"), field(2, "data_file", data))
            with pytest.raises(UnreadableInputError, match=r"partition field|fixed type"):
                read_manifest(avro(schema, 0, b""))

    def test_a_map_with_a_key_twice_is_refused(self) -> None:
        pair = record(field(117, "key", "int"), field(118, "value", "long"))
        sizes = field(108, "column_sizes", {"type": "array", "items": pair, "logicalType": "map"})
        data = record(*(field(id, str(id), type) for id, type in FILE.items()), sizes)
        schema = record(field(0, "status", "int"), field(2, "data_file", data))
        twice = number(2) + (number(1) + number(5)) * 2 + number(0)

        with pytest.raises(UnreadableInputError, match="duplicate or missing key"):
            read_manifest(avro(schema, 1, number(1) + file_values("p") + twice))


class TestBounds:
    def test_a_deflated_block_is_bounded_after_decompression(self) -> None:
        bomb = header(LIST, "deflate") + block(1, deflated(bytes(1_000_000), times=300))
        assert len(bomb) < 400_000

        with pytest.raises(OversizedInputError, match="larger than 128 MiB after decompression"):
            manifests.read_manifest_list(bomb)

    def test_a_zstandard_block_is_bounded_after_decompression(self) -> None:
        packer = zstandard.ZstdCompressor().compressobj()
        packed = b"".join(packer.compress(bytes(1_000_000)) for _ in range(300)) + packer.flush()
        bomb = header(LIST, "zstandard") + block(1, packed)
        assert len(bomb) < 100_000

        with pytest.raises(OversizedInputError, match="larger than 128 MiB after decompression"):
            manifests.read_manifest_list(bomb)

    def test_the_blocks_of_a_file_are_bounded_together(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("headgate.untrusted_input.avro.MAX_UNPACKED_BYTES", 3 * len(BLOCK))

        assert len(list(unpack_manifests(manifests.read_manifest_list(header(LIST) + block(1, BLOCK) * 3)))) == 3
        with pytest.raises(OversizedInputError):
            manifests.read_manifest_list(header(LIST) + block(1, BLOCK) * 4)

    def test_the_records_of_a_file_are_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(manifests, "MAX_RECORDS", 2)

        with pytest.raises(OversizedInputError, match="more than 2 records"):
            manifests.read_manifest_list(avro(LIST, 3, BLOCK * 3))


def test_a_manifest_of_neither_data_nor_deletes_is_refused() -> None:
    with pytest.raises(UnreadableInputError, match=r"an entry of the manifest list has a `content`"):
        manifests.read_manifest_list(avro(LIST, 1, listed("p", content=2)))


class TestAnswers:
    """The process that reads a parser's answer does not trust it."""

    @pytest.mark.parametrize(
        "answer", [b"a", b"\xff" * 200, bytes(53) + b"\xff", (1 << 31).to_bytes(4, "big") + bytes(60)]
    )
    def test_a_malformed_answer_of_a_parser_is_refused(self, answer: bytes) -> None:
        for unpack in (unpack_manifests, unpack_files):
            with pytest.raises(UnreadableInputError):
                list(unpack(answer))

    @given(answer=st.binary(max_size=300))
    def test_any_answer_of_a_parser_is_refused_or_read(self, answer: bytes) -> None:
        for unpack in (unpack_manifests, unpack_files):
            with suppress(UnreadableInputError):
                list(unpack(answer))

    def test_an_answer_is_read_as_it_was_written(self) -> None:
        [found] = unpack_manifests(manifests.read_manifest_list(avro(LIST, 1, listed("file:/ä", 3))))

        assert (found.path, found.partition_spec_id, found.sequence_number, found.is_encrypted) == (
            "file:/ä",
            3,
            1,
            False,
        )
        assert len(found.identity) == 32

    def test_a_header_without_a_codec_is_not_compressed(self) -> None:
        assert (
            len(list(unpack_manifests(manifests.read_manifest_list(header(json.dumps(LIST), None) + block(1, BLOCK)))))
            == 1
        )
