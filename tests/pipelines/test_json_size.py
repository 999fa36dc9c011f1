"""The estimated size of rows as JSON, compared with the JSON itself, for every type that Spark returns."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pydantic import TypeAdapter

from headgate.endpoints.api.sql.schemas import Statement
from headgate.pipelines.json_size import json_size, rows_within

FRACTION = 0.05
"""The smallest ratio of the JSON to its estimate: an empty list has three characters, but counts as the object it becomes."""
ROUNDING = 16
"""Characters by which base64 in parts is estimated longer than base64 of the whole."""

NESTED = pa.struct([('a "quoted" näme', pa.list_(pa.map_(pa.string(), pa.struct([("deep", pa.bool_())]))))])
FIRST, LATEST = (dt.datetime.fromisoformat(each) for each in ("0001-01-01", "9999-12-30T23:59:59.999999"))
EARLY, NOW = (dt.datetime.fromisoformat(each) for each in ("1900-01-01T01:01:01.000007", "2026-01-01"))
VALUES: list[tuple[pa.DataType, list[Any]]] = [
    (pa.null(), [None] * 3),
    (pa.bool_(), [True, False, None]),
    (pa.int8(), [-128, None, 1]),
    (pa.int16(), [-(2**15), None, 1]),
    (pa.int32(), [-(2**31), None, 1]),
    (pa.int64(), [-(2**63), None, 1]),
    (pa.float32(), [-3.4028234663852886e38, float("nan"), float("-inf")]),
    (pa.float64(), [-2.2250738585072014e-308, None, float("nan")]),
    (pa.decimal128(38, 0), [Decimal("-" + "9" * 38), None, Decimal(1)]),
    (pa.decimal128(38, 38), [Decimal("-0." + "9" * 38), Decimal("1e-38"), None]),
    (pa.decimal128(38, 6), [Decimal("-0.000001"), Decimal("-" + "9" * 32 + ".999999"), None]),
    (pa.string(), ["", None, "ä€😀"]),
    (pa.string(), ["".join(map(chr, range(128))), '"' * 1000, "\x01" * 1000]),
    (pa.large_string(), ["ä\n", None, "b" * 1000]),
    (pa.binary(), [b"", b"\xff", b"\x00" * 1001]),
    (pa.large_binary(), [b"1", None, b"12"]),
    (pa.date32(), [dt.date.min, None, dt.date.max]),
    (pa.timestamp("us"), [FIRST, None, LATEST]),
    (pa.timestamp("us", "UTC"), [LATEST, None, NOW]),
    (pa.timestamp("us", "Asia/Kathmandu"), [EARLY, None, NOW]),
    (pa.time64("us"), [dt.time.max, None, dt.time(1)]),
    (pa.duration("us"), [dt.timedelta(microseconds=-(2**62)), None, dt.timedelta(days=9)]),
    (pa.month_day_nano_interval(), [pa.MonthDayNano([-(2**31), -(2**31), -(2**63)]), None, pa.MonthDayNano([0, 0, 0])]),
    (pa.list_(pa.bool_()), [[], None, [True, None] * 500]),
    (pa.list_(pa.list_(pa.null())), [[], [None, []], [[None] * 9] * 9]),
    (pa.large_list(pa.int8()), [[-128] * 5, None, []]),
    (pa.map_(pa.string(), pa.int64()), [[], None, [("a\n", -(2**63)), ("b", None)]]),
    (pa.struct([]), [{}, None, {}]),
    (pa.struct([("a", pa.bool_()), ("\x02", pa.string())]), [{"a": True, "\x02": "\x02"}, None, {}]),
    (NESTED, [None, {NESTED[0].name: [[("k", {"deep": False})], None, []]}, {NESTED[0].name: None}]),
]
ROWS = TypeAdapter(list[tuple[Any, ...]], config=Statement.model_config)


def table(*columns: tuple[pa.DataType, list[Any]]) -> pa.Table:
    arrays = [pa.array(values, type) for type, values in columns]
    return pa.Table.from_arrays(arrays, names=[str(at) for at in range(len(arrays))])


def written(rows: pa.Table | pa.RecordBatch) -> int:
    """Return the length of the JSON of these rows in an answer."""
    return len(ROWS.dump_json(list(zip(*(each.to_pylist() for each in rows.columns), strict=True))))


def require_close(rows: pa.Table | pa.RecordBatch) -> None:
    # The two brackets of the list of rows are not in the estimate.
    assert FRACTION * json_size(rows) <= written(rows) <= json_size(rows) + 2


class TestTheEstimate:
    @pytest.mark.parametrize(("type", "values"), VALUES)
    def test_the_estimate_of_each_type_is_never_below_its_json(self, type: pa.DataType, values: list[Any]) -> None:
        require_close(table((type, values)))

    @pytest.mark.parametrize(("type", "values"), VALUES)
    def test_the_estimate_of_a_repeated_value_is_never_below_its_json(
        self, type: pa.DataType, values: list[Any]
    ) -> None:
        for each in values:
            require_close(table((type, [each] * 100)))

    @pytest.mark.parametrize(("type", "values"), VALUES)
    def test_the_estimate_of_a_slice_is_of_its_rows_alone(self, type: pa.DataType, values: list[Any]) -> None:
        long = table((type, values * 20))
        for start, count in ((0, 3), (1, 2), (7, 30), (59, 1)):
            part = long.slice(start, count)
            own = table((type, part.column(0).to_pylist()))
            assert json_size(part) == json_size(own)
            require_close(part)

    @pytest.mark.parametrize(("type", "values"), VALUES)
    def test_the_estimate_of_an_empty_slice_is_zero(self, type: pa.DataType, values: list[Any]) -> None:
        assert json_size(table((type, values)).slice(1, 0)) == json_size(table((type, []))) == 0

    @pytest.mark.parametrize(("type", "values"), VALUES)
    def test_the_estimates_of_parts_add_up(self, type: pa.DataType, values: list[Any]) -> None:
        whole = table((type, values * 5))
        assert 0 <= json_size(whole.slice(0, 4)) + json_size(whole.slice(4)) - json_size(whole) <= ROUNDING

    def test_the_estimate_of_several_columns_and_chunks_counts_all_of_them(self) -> None:
        wide = table(*VALUES)
        both = pa.concat_tables([wide.slice(1, 1), wide])

        require_close(both)
        assert json_size(both) > json_size(wide)

    def test_the_estimate_of_slices_of_slices_is_of_their_rows_alone(self) -> None:
        lists = pa.array([[[1] * n] * n for n in range(10)]).slice(2, 6).slice(1, 2)

        require_close(pa.record_batch({"a": lists}))
        assert json_size(pa.record_batch({"a": lists})) == json_size(pa.record_batch({"a": lists.to_pylist()}))

    def test_booleans_are_counted_as_json_text_and_not_as_bits(self) -> None:
        booleans = pa.array([[True] * 1_000_000])

        assert booleans.nbytes < 130_000
        assert json_size(pa.record_batch({"a": booleans})) > 5_000_000

    def test_a_type_that_spark_does_not_return_is_refused(self) -> None:
        repeated = pa.array(["x" * 1000] * 1000).dictionary_encode()

        with pytest.raises(ValueError, match="cannot be returned as JSON"):
            json_size(pa.record_batch({"a": repeated}))


class TestRowsWithin:
    @pytest.mark.parametrize(("type", "values"), VALUES)
    def test_the_largest_number_of_rows_that_fits_a_size_is_found(self, type: pa.DataType, values: list[Any]) -> None:
        rows = table((type, values * 7))
        for size in (0, 31, 100, 1000, 5000, 100_000):
            found = rows_within(rows, size)
            assert json_size(rows.slice(0, found)) <= size
            assert found == rows.num_rows or json_size(rows.slice(0, found + 1)) > size - ROUNDING

    def test_all_rows_are_within_their_own_size(self) -> None:
        rows = table(*VALUES)

        assert rows_within(rows, json_size(rows) + ROUNDING) == rows.num_rows

    def test_an_empty_table_fits_into_any_size(self) -> None:
        assert rows_within(table((pa.int8(), [])), 0) == 0

    def test_rows_of_control_characters_are_counted_as_their_escapes(self) -> None:
        rows = table((pa.string(), ["\x01" * 1000] * 10))

        assert rows_within(rows, 13_000) == 2
