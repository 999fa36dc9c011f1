"""The size of rows as JSON, estimated from Arrow before any Python object is created.

A boolean is one bit in Arrow, five characters in JSON and a reference in Python: the size of the Arrow data limits neither
the response nor the memory and time to create it. The estimate is never below the length of the JSON, and each value
counts at least its cost: 16 MiB by the estimate are created in a fraction of a second.
"""

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.types as kinds

_VALUE = 16
"""The least size of a value."""
_ROW = 32
"""The size of a row, an entry of a map, or a struct, without its values: a Python object, two brackets and a comma."""
_LIST = 48
"""The size of a list or map, without its values: slower to create."""
_TEXT = 16
"""The size of a text or bytes, without their content."""
_SIZES = {
    pa.null(): _VALUE,
    pa.bool_(): _VALUE,
    pa.int8(): _VALUE,
    pa.int16(): _VALUE,
    pa.int32(): _VALUE,
    pa.int64(): 24,
    pa.uint8(): _VALUE,
    pa.uint16(): _VALUE,
    pa.uint32(): _VALUE,
    pa.uint64(): 24,
    pa.float16(): 32,
    pa.float32(): 32,
    pa.float64(): 32,
    pa.date32(): 32,
    pa.date64(): 32,
    pa.month_day_nano_interval(): 64,
}
_OTHER_SIZES = (
    # Slow to create, rather than long: their texts have at most 41 characters.
    (kinds.is_timestamp, 80),
    (kinds.is_time, 48),
    (kinds.is_duration, 48),
)
_DECIMAL = 32
"""The size of a decimal number, without its digits."""

_SHORT_ESCAPES = b'"\\\b\t\n\f\r'
"""The characters whose escapes have two characters."""
_LONG_ESCAPES = bytes(each for each in range(0x20) if each not in _SHORT_ESCAPES)
"""The characters whose escapes have six characters."""


def json_size(rows: pa.Table | pa.RecordBatch) -> int:
    """Return an upper bound of the size of rows as a JSON list of lists. Raises `ValueError` for a type without JSON form."""
    return _size_within(rows, None)


def rows_within(rows: pa.Table | pa.RecordBatch, size: int) -> int:
    """Return the number of first rows that fit the size. Raises `ValueError` for a type without JSON form."""
    # By bisection: the sizes of parts add up; if a part is too large, its first half is tried next.
    found, step = 0, 1 << max(rows.num_rows, 1).bit_length()
    while step and found < rows.num_rows:
        part = rows.slice(found, step)
        needed = _size_within(part, size)
        if needed <= size:
            found, size = found + part.num_rows, size - needed
        step //= 2
    return found


class RowSizeError(Exception):
    """The first row alone is too large."""


def batches_within(batches: Iterable[pa.RecordBatch], size: int) -> tuple[list[pa.RecordBatch], bool]:
    """Return the first rows that fit the size, and whether there are more. No further batch is read.

    Raises:
        RowSizeError: the first row alone is too large.
        ValueError: a column has a type without JSON form.
    """
    found = list[pa.RecordBatch]()
    for batch in batches:
        fitting = rows_within(batch, size)
        if not fitting and batch.num_rows and not any(each.num_rows for each in found):
            raise RowSizeError(
                f"the first row is larger than {size / 1024**2:,.0f} MiB as JSON; select fewer columns or shorter values"
            )
        found.append(batch.slice(0, fitting))
        if fitting < batch.num_rows:
            return found, True
        size -= json_size(batch)
    return found, False


def _size_within(rows: pa.Table | pa.RecordBatch, most: int | None) -> int:
    """Return the size of rows. If it exceeds `most` without their escapes, these are not counted, to save the search."""
    chunks = [chunk for column in rows.columns for chunk in _chunks(column)]
    arrays = [each for chunk in chunks for each in _arrays(chunk)]
    size = rows.num_rows * _ROW + sum(map(_own_size, arrays))
    if most is not None and size > most:
        return size
    return size + sum(map(_escapes, arrays))


def _chunks(column: Any) -> list[Any]:
    return column.chunks if isinstance(column, pa.ChunkedArray) else [column]


def _arrays(array: Any) -> Iterator[Any]:
    """Yield an array and the arrays nested in it, each limited to its slice."""
    yield array
    if not len(array):
        return
    if kinds.is_struct(array.type):
        for at in range(array.type.num_fields):
            yield from _arrays(array.field(at))
    elif kinds.is_list(array.type) or kinds.is_large_list(array.type):
        yield from _arrays(_slice_values(array, array.values))
    elif kinds.is_map(array.type):
        yield from _arrays(_slice_values(array, array.keys))
        yield from _arrays(_slice_values(array, array.items))


def _slice_values(lists: Any, values: Any) -> Any:
    first, end = lists.offsets[0].as_py(), lists.offsets[-1].as_py()
    return values.slice(first, end - first)


def _own_size(array: Any) -> int:
    """Return the size of an array without its nested arrays and without escapes."""
    count, type = len(array), array.type
    if kinds.is_struct(type):
        return count * (_ROW + sum(len(json.dumps(each.name, ensure_ascii=False).encode()) + 1 for each in type))
    if kinds.is_list(type) or kinds.is_large_list(type):
        return count * _LIST
    if kinds.is_map(type):
        entries = len(_slice_values(array, array.keys)) if count else 0
        return count * _LIST + entries * _ROW
    if _is_text(type):
        return count * _TEXT + len(_content(array))
    if kinds.is_binary(type) or kinds.is_large_binary(type):
        # As base64: four characters per three bytes, and up to four for the remainder of each value.
        return count * (_TEXT + 4) + math.ceil(len(_content(array)) * 4 / 3)
    return count * _size_of_one(type)


def _size_of_one(type: Any) -> int:
    if kinds.is_decimal(type):
        return int(type.precision) + _DECIMAL
    found = _SIZES.get(type) or next((size for is_of, size in _OTHER_SIZES if is_of(type)), None)
    if found is None:
        raise ValueError(f"values of the type `{type}` cannot be returned as JSON; cast the column to another type")
    return found


def _is_text(type: Any) -> bool:
    return bool(kinds.is_string(type) or kinds.is_large_string(type))


def _content(array: Any) -> memoryview:
    """Return the concatenated bytes of the texts or binary values of an array."""
    _, offsets, content = array.buffers()
    if not len(array) or offsets is None or content is None:
        return memoryview(b"")
    is_large = kinds.is_large_string(array.type) or kinds.is_large_binary(array.type)
    places = memoryview(offsets).cast("b").cast("q" if is_large else "i")
    return memoryview(content)[places[array.offset] : places[array.offset + len(array)]]


def _escapes(array: Any) -> int:
    """Return the number of characters that escapes add to the texts of an array."""
    if not _is_text(array.type):
        return 0
    text = bytes(_content(array))
    short = len(text) - len(text.translate(None, _SHORT_ESCAPES))
    long = len(text) - len(text.translate(None, _LONG_ESCAPES))
    return short + 5 * long
