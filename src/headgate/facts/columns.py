"""Columnar encoding of facts: every field of every record in an array of its own, every text once.

The order of the columns follows from the shape alone, so that writing and reading use the same order.
"""

import json
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from struct import Struct
from typing import Any

from headgate.facts.record_schema import ListShape, MapShape, OptionalShape, RecordShape, ScalarShape, Shape

_LENGTH = Struct("<Q")
_FAST = 1
_CODES = {bool: "B", int: "q", float: "d"}
_INDEX = _COUNT = "I"
_BIG_ENDIAN = array("H", (1,)).tobytes() == b"\0\1"


class _Texts(dict[str, int]):
    """Numbers each text at its first use."""

    def __missing__(self, text: str) -> int:
        self[text] = number = len(self)
        return number


def columns_of(shape: Shape, value: object) -> bytes:
    """Return the value encoded as its texts and columns."""
    texts = _Texts()
    columns = [_pack(each) for each in _write(shape, [value], texts)]
    return b"".join((_frame(json.dumps(list(texts)).encode()), *columns))


def from_columns(shape: Shape, content: bytes | memoryview) -> Any:  # noqa: ANN401 (its shape says what it is)
    """Return the value of a shape from the bytes of `columns_of`. Other bytes can raise any exception."""
    blocks = _blocks(content)
    texts: list[str] = json.loads(next(blocks))
    return _read(shape, 1, blocks, texts)[0]


def _write(shape: Shape, values: Sequence[Any], texts: _Texts) -> Iterator["array[Any]"]:
    match shape:
        case ScalarShape(kind):
            yield array(_INDEX, map(texts.__getitem__, values)) if kind is str else array(_CODES[kind], values)
        case OptionalShape(inner):
            yield array("B", (value is not None for value in values))
            yield from _write(inner, [value for value in values if value is not None], texts)
        case ListShape(inner, build):
            yield array(_COUNT, map(len, values))
            yield from _write(inner, [each for value in values for each in _ordered(value, build)], texts)
        case MapShape(key, inner, build):
            yield array(_COUNT, map(len, values))
            yield from _write(key, [each for value in values for each in _ordered(value, build)], texts)
            yield from _write(inner, [value[each] for value in values for each in _ordered(value, build)], texts)
        case RecordShape(_, members):
            for member in members:
                yield from _write(member.shape, [getattr(value, member.name) for value in values], texts)


def _ordered(value: Any, build: Any) -> Iterable[Any]:  # noqa: ANN401 (a collection, and its constructor)
    """Return the values, sorted if the collection has no order, so that equal facts give equal bytes in every process."""
    return value if build in (tuple, dict) else sorted(value)


def _read(shape: Shape, count: int, blocks: Iterator[bytes], texts: Sequence[str]) -> list[Any]:
    match shape:
        case ScalarShape(kind) if kind is str:
            return list(map(texts.__getitem__, _unpacked(_INDEX, next(blocks))))
        case ScalarShape(kind):
            found = _unpacked(_CODES[kind], next(blocks))
            return list(map(bool, found)) if kind is bool else list(found)
        case OptionalShape(inner):
            there = next(blocks)
            present = sum(there)
            found = _read(inner, present, blocks, texts)
            return found if present == count else _spread(there, found)
        case ListShape(inner, build):
            counts = _unpacked(_COUNT, next(blocks))
            return _group(counts, iter(_read(inner, sum(counts), blocks, texts)), build)
        case MapShape(key, inner, build):
            counts = _unpacked(_COUNT, next(blocks))
            keys = _read(key, sum(counts), blocks, texts)
            return _group(counts, zip(keys, _read(inner, len(keys), blocks, texts), strict=True), build)
        case RecordShape(kind, members):
            columns = [_read(member.shape, count, blocks, texts) for member in members]
            return list(map(kind, *columns))


def _spread(there: bytes, present: list[Any]) -> list[Any]:
    if not present:
        return [None] * len(there)
    found = iter(present)
    return [next(found) if each else None for each in there]


def _group(counts: Sequence[int], flat: Iterator[Any], build: Any) -> list[Any]:  # noqa: ANN401 (a constructor)
    # Most are empty; these share one collection, which is never modified.
    nothing = build(())
    return [build(islice(flat, count)) if count else nothing for count in counts]


def _pack(column: "array[Any]") -> bytes:
    if _BIG_ENDIAN:
        column.byteswap()
    return _frame(column.tobytes())


def _frame(content: bytes) -> bytes:
    packed = zlib.compress(content, _FAST)
    return _LENGTH.pack(len(packed)) + packed


def _unpacked(code: str, block: bytes) -> "array[Any]":
    column = array(code, block)
    if _BIG_ENDIAN:
        column.byteswap()
    return column


def _blocks(content: bytes | memoryview) -> Iterator[bytes]:
    at = 0
    while at < len(content):
        (length,) = _LENGTH.unpack_from(content, at)
        at += _LENGTH.size
        yield zlib.decompress(content[at : at + length])
        at += length
