"""Arrow streams of a client, read by a real parser: valid rows arrive unchanged, and forged streams are refused."""

import datetime as dt
import struct
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.untrusted_input.arrow import MAX_ROWS, MAX_STREAM_BYTES, require_valid_arrow
from headgate.untrusted_input.arrow_types import MAX_DEPTH, MAX_FIELDS
from headgate.untrusted_input.errors import OversizedInputError, UnreadableInputError, UntrustedInputError
from tests.arrow_streams import END, column, read, replaced, rows, stream, with_offsets
from tests.untrusted_input.parsers import Parsers

NOW = dt.datetime(2026, 1, 2, 3, 4, 5, 6)  # noqa: DTZ001 - the test needs a time without a zone
HUGE = 1 << 40


def nested(depth: int) -> pa.DataType:
    """Return a list of lists."""
    kind = pa.int32()
    for _ in range(depth):
        kind = pa.list_(kind)
    return kind


ORDINARY = {
    "booleans": pa.array([True, None, False]),
    "bytes": pa.array([1, None], pa.int8()),
    "doubles": pa.array([1.5, float("inf"), None]),
    "decimals": pa.array([Decimal("1.50"), None], pa.decimal128(38, 18)),
    "strings": pa.array(["", "ä", None]),
    "large strings": pa.array(["a" * 1000, None], pa.large_string()),
    "binaries": pa.array([b"\0\xff", None]),
    "dates": pa.array([NOW.date(), None]),
    "timestamps": pa.array([NOW, None], pa.timestamp("us", "UTC")),
    "timestamps without a zone": pa.array([NOW, None], pa.timestamp("us")),
    "durations": pa.array([dt.timedelta(days=1), None], pa.duration("us")),
    "times": pa.array([NOW.time(), None], pa.time64("ns")),
    "calendar intervals": pa.array([pa.MonthDayNano([1, 2, 3]), None]),
    "nulls": pa.nulls(3),
    "lists": pa.array([[1, None], [], None]),
    "maps": pa.array([[("a", [1])], [], None], pa.map_(pa.string(), pa.list_(pa.int64()))),
    "structs": pa.array([{"a": 1, "b": {"c": "x"}}, None]),
    "a slice": pa.array(["secret", "a", None, "b"]).slice(1, 2),
    "no rows": pa.array([], pa.string()),
}


class TestHonestRows:
    @pytest.mark.parametrize("what", ORDINARY)
    def test_ordinary_rows_arrive_equal(self, pool: Parsers, what: str) -> None:
        sent = column(ORDINARY[what])

        [written] = pool.rewrite(sent)

        assert read(written).equals(read(sent))

    @pytest.mark.parametrize("codec", ["lz4", "zstd"])
    def test_compressed_rows_arrive_plain(self, pool: Parsers, codec: str) -> None:
        table = pa.table({"i": range(10_000)})

        [written] = pool.rewrite(stream(table, compression=codec))

        assert read(written).equals(table)
        assert len(written) >= table.nbytes

    def test_a_table_without_columns_is_accepted(self, pool: Parsers) -> None:
        assert read(pool.rewrite(stream(pa.table({})))[0]).num_columns == 0

    def test_several_batches_and_equal_column_names_are_accepted(self, pool: Parsers) -> None:
        batch = pa.record_batch([pa.array([1]), pa.array(["x"])], names=["a", "a"])
        table = pa.Table.from_batches([batch, batch])

        assert read(pool.rewrite(stream(table))[0]).equals(table)

    def test_many_streams_are_returned_in_their_order(self, pool: Parsers) -> None:
        sent = [column(pa.array([each])) for each in range(50)]

        assert [read(each)["c"][0].as_py() for each in pool.rewrite(*sent)] == list(range(50))

    def test_metadata_that_spark_does_not_read_is_removed(self, pool: Parsers) -> None:
        binary = pa.field("metadata", pa.binary(), metadata={"variant": "true", "other": "x", "srid": "1); DROP"})
        fields = [pa.field("v", pa.struct([binary]), metadata={"CURRENT_DEFAULT": "session_user()"})]
        empty = pa.schema(fields, metadata={"pandas": "{}"}).empty_table()

        schema = read(pool.rewrite(stream(empty))[0]).schema

        assert schema.metadata is None
        assert schema.field("v").metadata is None
        assert schema.field("v").type.field(0).metadata == {b"variant": b"true"}

    def test_rows_outside_a_slice_are_not_passed_on(self, pool: Parsers) -> None:
        assert b"secret" not in pool.rewrite(column(ORDINARY["a slice"]))[0]


NODE = struct.Struct("<qq")
NUMBERS, STRUCTS = pa.array([1, None, 3, None, 5]), pa.array([{"x": each} for each in range(5)])
WITH_NULLS, LISTS = column(NUMBERS), column(pa.array([[7, 8, 9]]))
TEXTS, COMPRESSED = column(pa.array(["ABCDEFGH", "abcdefgh"])), column(pa.array(["a"]))


def forge_node(data: bytes, node: tuple[int, int], forged: tuple[int, int]) -> bytes:
    """Return the stream with a forged length and null count in its last array of this kind."""
    return replaced(data, NODE.pack(*node), NODE.pack(*forged))


def offsets(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}i", *numbers)


def nulls_that_are_many() -> bytes:
    return column(pa.nulls(7)).replace(struct.pack("<q", 7), struct.pack("<q", HUGE))


def a_declared_size() -> bytes:
    packed = stream(pa.table({"c": pa.array([0] * 10_000)}), compression="zstd")
    return replaced(packed, struct.pack("<q", 80_000), struct.pack("<q", HUGE))


FORGED = {
    "a window behind the buffer": with_offsets(0, 65_536),
    "a window far behind the buffer": with_offsets(65_536, 131_072),
    "a window before the buffer": with_offsets(-(1 << 20), 8),
    "a negative end": with_offsets(0, -8),
    "an end before its start": with_offsets(8, 0),
    "binaries behind the buffer": with_offsets(0, 65_536, pa.binary()),
    "large strings behind the buffer": replaced(
        column(pa.array(["ABCDEFGH"], pa.large_string())), NODE.pack(0, 8), NODE.pack(0, 65_536)
    ),
    "offsets that fall": replaced(TEXTS, offsets(0, 8, 16), offsets(0, 20, 16)),
    "offsets that are negative inside": replaced(TEXTS, offsets(0, 8, 16), offsets(0, -400, 16)),
    "a list behind its values": replaced(LISTS, offsets(0, 3), offsets(0, 300)),
    "a list before its values": replaced(LISTS, offsets(0, 3), offsets(-3, 3)),
    "more rows than the buffers hold": forge_node(WITH_NULLS, (5, 2), (5_000, 2)),
    "fewer rows than the batch has": forge_node(WITH_NULLS, (5, 2), (2, 2)),
    "a negative number of rows": forge_node(WITH_NULLS, (5, 2), (-5, 2)),
    "a wrong number of nulls": forge_node(WITH_NULLS, (5, 2), (5, 4)),
    "more nulls than rows": forge_node(WITH_NULLS, (5, 2), (5, 50)),
    "a child shorter than its struct": forge_node(column(STRUCTS), (5, 0), (2, 0)),
    "no string that Unicode has": replaced(column(pa.array(["ABCDEFGH"])), b"ABCDEFGH", b"ABC\xff\xfeFGH"),
    "a decimal larger than its type": column(pa.array([Decimal(12)], pa.decimal128(2))).replace(
        (12).to_bytes(16, "little"), (12_000).to_bytes(16, "little")
    ),
    "a dictionary": column(pa.array(["a", "b", "a"]).dictionary_encode()),
    "a dictionary in a list": column(pa.array([["a"]], pa.list_(pa.dictionary(pa.int32(), pa.string())))),
    "a union": column(pa.UnionArray.from_dense(pa.array([0], pa.int8()), pa.array([0], pa.int32()), [pa.array([1])])),
    "a view of strings": column(pa.array(["a"], pa.string_view())),
    "a view of binaries": column(pa.array([b"a"], pa.binary_view())),
    "a view of lists": column(pa.array([[1]], pa.list_view(pa.int64()))),
    "runs": column(pa.RunEndEncodedArray.from_arrays([2], pa.array(["a"]))),
    "an extension type": column(pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{}"]))),
    "an unknown extension type": stream(
        pa.schema([pa.field("c", pa.string(), metadata={"ARROW:extension:name": "x"})]).empty_table()
    ),
    "lists of a fixed size": column(pa.array([[1]], pa.list_(pa.int64(), 1))),
    "large lists": column(pa.array([[1]], pa.large_list(pa.int64()))),
    "unsigned numbers": column(pa.array([1], pa.uint8())),
    "half floats": column(pa.array([1.0], pa.float16())),
    "nanoseconds": column(pa.array([1], pa.timestamp("ns"))),
    "a time zone that is none": column(pa.array([1], pa.timestamp("us", "a b"))),
    "wide decimals": column(pa.array([Decimal(1)], pa.decimal256(40))),
    "too many columns": stream(pa.table({f"c{each}": pa.nulls(0) for each in range(MAX_FIELDS + 1)})),
    "too deep a type": column(pa.array([], nested(MAX_DEPTH))),
    "nothing": b"",
    "no Arrow": b"PK\3\4 and so on",
    "a schema alone": rows()[:100],
    "a truncated stream": rows()[:-40],
    "no end": rows()[: -len(END)],
    "bytes behind the end": rows() + b"12345678",
    "two streams": rows() * 2,
}
OVERSIZED = {
    "a declared size": a_declared_size(),
    "nulls that are many": nulls_that_are_many(),
    "rows of nothing": column(pa.nulls(MAX_ROWS + 1)),
    "lists of nulls": replaced(
        forge_node(column(pa.array([[None, None]], pa.list_(pa.null()))), (2, 2), ((1 << 31) - 1, (1 << 31) - 1)),
        offsets(0, 2),
        offsets(0, (1 << 31) - 1),
    ),
}


class TestForgedRows:
    @pytest.mark.parametrize("what", FORGED)
    def test_forged_rows_are_refused(self, pool: Parsers, what: str) -> None:
        with pytest.raises(UnreadableInputError) as refused:
            pool.rewrite(FORGED[what])

        assert "headgate" not in str(refused.value)

    @pytest.mark.parametrize("what", OVERSIZED)
    def test_oversized_rows_are_refused(self, pool: Parsers, what: str) -> None:
        with pytest.raises(OversizedInputError, match=r"(send or select fewer|divide the) rows"):
            pool.rewrite(OVERSIZED[what])

    def test_a_compression_bomb_is_refused(self, pool: Parsers) -> None:
        zeros = pa.array([0], pa.int64()).take(pa.array([0], pa.int32()))
        zeros = pa.concat_arrays(
            [pa.Array.from_buffers(pa.int64(), 1 << 20, [None, pa.py_buffer(bytes(8 << 20))])] * 30
        )
        bomb = stream(pa.table({"c": zeros}), compression="zstd")

        assert zeros.nbytes > MAX_STREAM_BYTES
        assert len(bomb) < MAX_STREAM_BYTES // 1000
        with pytest.raises(OversizedInputError):
            pool.rewrite(bomb)

    def test_a_buffer_that_many_columns_share_is_counted_for_each_column(self, pool: Parsers) -> None:
        """Columns that overlap turn a few megabytes into gigabytes when each is written separately."""
        values = pa.array(range(500_000))
        sent = bytearray(stream(pa.table({f"c{each}": values for each in range(60)})))
        size = values.nbytes
        for each in range(60):
            found = sent.find(NODE.pack(each * size, size))
            assert found > 0
            sent[found : found + NODE.size] = NODE.pack(0, size)

        with pytest.raises(OversizedInputError):
            pool.rewrite(bytes(sent))


PASSED_AS_THEY_ARE = ("no end", "bytes behind the end", "two streams")
"""Streams that every reader reads in the same way, and that read nothing outside of the stream."""


class TestRowsThatAreReadAsTheyAre:
    @pytest.mark.parametrize("what", ORDINARY)
    def test_ordinary_rows_are_valid(self, what: str) -> None:
        require_valid_arrow(column(ORDINARY[what]))

    @pytest.mark.parametrize("what", [each for each in (*FORGED, *OVERSIZED) if each not in PASSED_AS_THEY_ARE])
    def test_forged_and_oversized_rows_are_refused(self, what: str) -> None:
        with pytest.raises(UntrustedInputError):
            require_valid_arrow({**FORGED, **OVERSIZED}[what])

    @pytest.mark.parametrize("codec", ["lz4", "zstd"])
    def test_compressed_rows_are_refused_before_they_are_unpacked(self, codec: str) -> None:
        packed = stream(pa.table({"c": pa.array([0] * 10_000)}), compression=codec)

        for data in (packed, packed.replace(struct.pack("<q", 80_000), struct.pack("<q", HUGE))):
            with pytest.raises(UnreadableInputError, match="compressed"):
                require_valid_arrow(data)

    def test_rows_of_an_older_arrow_version_are_refused(self) -> None:
        older = pa.ipc.IpcWriteOptions(metadata_version=pa.ipc.MetadataVersion.V4)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, pa.schema({"c": pa.int64()}), options=older) as writer:
            writer.write_batch(pa.record_batch({"c": [1]}))

        with pytest.raises(UnreadableInputError, match="compressed"):
            require_valid_arrow(sink.getvalue().to_pybytes())

    def test_a_text_that_is_not_utf_8_is_refused_with_what_to_do(self) -> None:
        with pytest.raises(UnreadableInputError, match="make_valid_utf8"):
            require_valid_arrow(FORGED["no string that Unicode has"])


EDITS = st.lists(st.tuples(st.integers(0, 5_000), st.integers(0, 255)), min_size=1, max_size=6)
LONGS = st.lists(st.tuples(st.integers(0, 600), st.integers(-(1 << 33), 1 << 33)), max_size=2)
COLUMNS: st.SearchStrategy[dict[str, Any]] = st.integers(0, 8).flatmap(
    lambda count: st.fixed_dictionaries(
        {
            "i": st.lists(st.none() | st.integers(-(1 << 63), (1 << 63) - 1), min_size=count, max_size=count),
            "s": st.lists(st.none() | st.text(max_size=9), min_size=count, max_size=count),
            "l": st.lists(st.none() | st.lists(st.none() | st.binary(max_size=9)), min_size=count, max_size=count),
        }
    )
)
SCHEMA = pa.schema({"i": pa.int64(), "s": pa.string(), "l": pa.list_(pa.binary())})
SLOW = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def edited(data: bytes, edits: list[tuple[int, int]], longs: list[tuple[int, int]]) -> bytes:
    """Return the bytes with some bytes, and some numbers of eight bytes, replaced."""
    found = bytearray(data)
    for place, number in longs:
        start = place * 8 % len(found)
        found[start : start + 8] = struct.pack("<q", number)
    for place, value in edits:
        found[place % len(found)] = value
    return bytes(found)


class TestWhateverIsSent:
    @SLOW
    @given(what=st.sampled_from(sorted(ORDINARY)), edits=EDITS, longs=LONGS)
    def test_an_edited_stream_is_refused_or_rewritten_to_valid_rows(
        self, pool: Parsers, what: str, edits: list[tuple[int, int]], longs: list[tuple[int, int]]
    ) -> None:
        """The parser refuses arbitrary bytes, or its result is valid and reads the same a second time."""
        try:
            [written] = pool.rewrite(edited(column(ORDINARY[what]), edits, longs))
        except UntrustedInputError:
            return

        read(written)
        assert pool.rewrite(written) == [written]

    @SLOW
    @given(what=st.sampled_from(sorted(ORDINARY)), edits=EDITS, longs=LONGS)
    def test_rows_that_pass_validation_can_be_read(
        self, what: str, edits: list[tuple[int, int]], longs: list[tuple[int, int]]
    ) -> None:
        data = edited(column(ORDINARY[what]), edits, longs)
        try:
            require_valid_arrow(data)
        except UntrustedInputError:
            return

        read(data).to_pylist()

    @SLOW
    @given(data=st.binary(max_size=200))
    def test_arbitrary_bytes_are_refused(self, pool: Parsers, data: bytes) -> None:
        with pytest.raises(UntrustedInputError):
            pool.rewrite(data)

    @SLOW
    @given(columns=COLUMNS)
    def test_any_rows_arrive_equal(self, pool: Parsers, columns: dict[str, Any]) -> None:
        table = pa.table(columns, schema=SCHEMA)

        assert read(pool.rewrite(stream(table))[0]).equals(table)
