"""Parquet files: files of common writers are within the limits, and a file that declares a false size is refused."""

import os
import random
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.untrusted_input import parquet
from headgate.untrusted_input.blocking_pool import FILE_LIMITS, BlockingPool
from headgate.untrusted_input.errors import OversizedInputError, UnreadableInputError, UntrustedInputError
from headgate.untrusted_input.parquet import check_parquet
from headgate.untrusted_input.thrift import Compact
from tests.untrusted_input.parsers import at_no_charge

MEBIBYTE = 1 << 20
ROWS = 5_000
TABLE = pa.table(
    {
        "n": pa.array(range(ROWS), pa.int64()),
        "s": pa.array([f"text {each % 100}" for each in range(ROWS)]),
        "none": pa.array([None] * ROWS, pa.int32()),
        "list": pa.array([[each, None] for each in range(ROWS)]),
        "struct": pa.array([{"a": {"b": str(each)}, "c": [1.5]} for each in range(ROWS)]),
        "map": pa.array([[("k", each)] for each in range(ROWS)], pa.map_(pa.string(), pa.int32())),
    }
)


def check(file: Path) -> None:
    descriptor = os.open(file, os.O_RDONLY)
    try:
        check_parquet(descriptor)
    finally:
        os.close(descriptor)


def written(folder: Path, table: pa.Table, **options: Any) -> Path:
    pq.write_table(table, folder / "a.parquet", **options)
    return folder / "a.parquet"


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd", "lz4", "brotli"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"data_page_version": "2.0"},
        {"use_dictionary": False, "write_page_index": True, "data_page_size": 1000},
        {"row_group_size": 700, "write_page_checksum": True, "data_page_version": "2.0", "write_page_index": True},
        {"write_statistics": False, "version": "1.0"},
    ],
    ids=str,
)
def test_a_file_of_pyarrow_is_accepted(tmp_path: Path, compression: str, options: dict[str, Any]) -> None:
    check(written(tmp_path, TABLE, compression=compression, **options))


@pytest.mark.parametrize("table", [TABLE.slice(0, 0), pa.table({"n": pa.array([], pa.null())})], ids=["typed", "null"])
def test_a_file_without_rows_is_accepted(tmp_path: Path, table: pa.Table) -> None:
    check(written(tmp_path, table))


def test_a_file_with_long_statistics_is_accepted(tmp_path: Path) -> None:
    check(written(tmp_path, pa.table({"s": ["a" * 200_000]}), use_dictionary=False))


@pytest.mark.parametrize(
    ("values", "options", "fault"),
    [
        (["a" * 17 * MEBIBYTE] * 4, {}, "a dictionary page of the Parquet file takes more than 16 MiB"),
        (["a" * 17 * MEBIBYTE], {"use_dictionary": False}, "a page of the Parquet file takes more than 16 MiB"),
    ],
    ids=["dictionary", "page"],
)
def test_a_small_file_of_large_values_is_refused(
    tmp_path: Path, values: list[str], options: dict[str, Any], fault: str
) -> None:
    file = written(tmp_path, pa.table({"s": values}), compression="zstd", write_statistics=False, **options)
    assert file.stat().st_size < MEBIBYTE

    with pytest.raises(OversizedInputError, match=fault):
        check(file)


def test_pages_that_are_read_at_once_are_bounded_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path, pa.table({str(each): range(1000) for each in range(20)}), use_dictionary=False)
    check(file)
    monkeypatch.setattr(parquet, "MAX_PAGES_BYTES", 20 * 8000)

    with pytest.raises(OversizedInputError, match="that are read at once"):
        check(file)


def test_values_of_lists_are_bounded_by_their_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "MAX_REPEATED_VALUES", 1000)
    check(written(tmp_path, pa.table({"n": [0] * 1001})))

    for column in ([[0] * 1001], [{"a": [0] * 1001}]):
        with pytest.raises(OversizedInputError, match="a list column of the Parquet file has more than 1,000 values"):
            check(written(tmp_path, pa.table({"l": column})))


@pytest.mark.parametrize("name", ["MAX_FIELDS", "MAX_DEPTH", "MAX_CHUNKS", "MAX_FOOTER_BYTES"])
def test_metadata_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    file = written(tmp_path, TABLE)
    monkeypatch.setattr(parquet, name, 2)

    with pytest.raises(OversizedInputError):
        check(file)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("cut off", lambda raw: raw[:-9]),
        ("footer of another length", lambda raw: raw[:-8] + struct.pack("<I", len(raw)) + b"PAR1"),
        ("footer of 2 GiB", lambda raw: raw[:-8] + struct.pack("<I", 0x7FFFFFFF) + b"PAR1"),
        ("other magic", lambda raw: raw[:-4] + b"PARE"),
        ("nothing", lambda _: b""),
        ("list of 2 billion", lambda _: footer(b"\x15\x02\x19\xfc\xff\xff\xff\xff\x07")),
        ("text of 2 GiB", lambda _: footer(b"\x15\x02\x19\x1c\x48\xff\xff\xff\xff\x07")),
        ("a field twice", lambda _: footer(b"\x15\x02\x05\x02\x02\x00")),
        ("page of another size", lambda raw: raw.replace(page(80), page(1 << 30), 1)),
        ("page of a negative size", lambda raw: raw.replace(page(80), page(-1), 1)),
        ("page longer than its column", lambda raw: raw.replace(page(80, 80), page(80, 1 << 30), 1)),
        ("a row group of more rows than values", lambda raw: replace_last(raw, i64(10), i64(11))),
        ("a row group of rows without columns", lambda _: footer(without_columns(1 << 40))),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_forged_metadata_is_refused(tmp_path: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    del name
    table = pa.table(
        {"n": pa.array(range(10), pa.int64())}, schema=pa.schema([pa.field("n", pa.int64(), nullable=False)])
    )
    file = written(tmp_path, table, use_dictionary=False, compression="none")
    raw = file.read_bytes()
    changed = change(raw)
    assert changed != raw
    file.write_bytes(changed)

    with pytest.raises(UntrustedInputError):
        check(file)


def varint(number: int) -> bytes:
    """Return a signed number in Thrift's encoding."""
    value, found = (number << 1) ^ (number >> 63), b""
    while value > 0x7F:
        found, value = found + bytes((value & 0x7F | 0x80,)), value >> 7
    return found + bytes((value,))


def i64(number: int) -> bytes:
    """Return a number as the field that follows the previous one."""
    return b"\x16" + varint(number)


def replace_last(raw: bytes, old: bytes, new: bytes) -> bytes:
    """Replace the last occurrence of `old`; for a number of rows this is the number of the last row group."""
    before, _, after = raw.rpartition(old)
    return before + new + after


def without_columns(rows: int) -> bytes:
    """Return a footer with one row group that has no columns."""
    schema, group = b"\x19\x1c\x48\x01r\x15\x00\x00", b"\x19\x0c" + i64(0) + i64(rows) + b"\x00"
    return b"\x15\x02" + schema + i64(rows) + b"\x19\x1c" + group + b"\x00"


def page(size: int, packed: int | None = None) -> bytes:
    """Return the beginning of the header of a data page."""
    return b"\x15\x00\x15" + varint(size) + (b"" if packed is None else b"\x15" + varint(packed))


def footer(data: bytes) -> bytes:
    return b"PAR1" + data + struct.pack("<I", len(data)) + b"PAR1"


def test_a_page_with_another_size_than_its_header_states_is_refused(tmp_path: Path) -> None:
    table = pa.table({"n": [7] * 1000})
    file = written(tmp_path, table, compression="snappy", use_dictionary=False, write_statistics=False)
    check(file)
    raw = bytearray(file.read_bytes())
    header = Compact(bytes(raw[4:]))
    header.struct()
    raw[4 + header.at : 6 + header.at] = b"\xff\x7f"
    file.write_bytes(raw)

    with pytest.raises(UnreadableInputError, match="does not fit its pages"):
        check(file)


def test_any_change_of_a_file_is_refused_or_within_bounds(tmp_path: Path) -> None:
    file = written(tmp_path, TABLE.slice(0, 50), compression="snappy", write_page_index=True)
    raw, chance = file.read_bytes(), random.Random(7)  # noqa: S311 (no secret)

    for _ in range(500):
        changed = bytearray(raw)
        for _ in range(chance.randint(1, 4)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        file.write_bytes(changed)
        with suppress(UntrustedInputError):
            check(file)


@pytest.fixture(scope="module")
def pool() -> Iterator[BlockingPool]:
    opened = BlockingPool(replace(FILE_LIMITS, memory_bytes=48 * MEBIBYTE))
    yield opened
    opened.close()


def in_a_process(pool: BlockingPool, file: Path) -> list[bytes]:
    with file.open("rb") as opened:
        return pool.rewrite("ann", b"parquet", (b"",), at_no_charge, opened.fileno())


def test_a_process_checks_the_file_that_it_is_handed(pool: BlockingPool, tmp_path: Path) -> None:
    assert in_a_process(pool, written(tmp_path, TABLE)) == [b""]
    (tmp_path / "b.parquet").write_text("n\n1\n")

    with pytest.raises(UnreadableInputError, match="the file is not a Parquet file"):
        in_a_process(pool, tmp_path / "b.parquet")
    with pytest.raises(UnreadableInputError, match="the file is not a Parquet file"):
        pool.rewrite("ann", b"parquet", (b"",), at_no_charge)


def test_a_footer_that_exceeds_the_limits_ends_its_own_process_only(tmp_path: Path, pool: BlockingPool) -> None:
    # A list of a million empty structs, each of which would be a Python dictionary.
    count = 1_000_000
    (tmp_path / "a.parquet").write_bytes(
        footer(
            b"\x49\xfc"
            + bytes((0x80 | count & 0x7F, 0x80 | count >> 7 & 0x7F, 0x80 | count >> 14 & 0x7F, count >> 21))
            + bytes(count + 1)
        )
    )

    with pytest.raises(UntrustedInputError):
        in_a_process(pool, tmp_path / "a.parquet")

    assert in_a_process(pool, written(tmp_path, TABLE)) == [b""]
