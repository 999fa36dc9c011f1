"""Thrift's compact protocol of Parquet's metadata, parsed strictly, so that no other reader can find another value."""

from collections.abc import Callable
from typing import Any, Final

from headgate.untrusted_input.errors import UnreadableInputError

MAX_DEPTH: Final = 32
"""The limit of levels of nested structs, lists and maps; Parquet's metadata needs fewer."""
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT, _UUID = range(1, 14)
_FIXED: Final = {_BYTE: 1, _DOUBLE: 8, _UUID: 16}
_BITS: Final = {_I16: 16, _I32: 32, _I64: 64}
_LONG_LIST: Final = 15
_MAX_FIELD: Final = 32_767


class Compact:
    """Reads values one after the other. Raises `UnreadableInputError` for malformed or truncated bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0
        """The number of bytes read."""

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Return the fields of a struct by their ids. A duplicate field is refused: readers differ in which one they use."""
        found, field = dict[int, Any](), 0
        while head := self._byte():
            field = field + (head >> 4) if head >> 4 else self._integer(16)
            if not 0 < field <= _MAX_FIELD or field in found:
                raise _malformed()
            kind = head & 0x0F
            found[field] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth + 1)
        return found

    def varint(self, bits: int) -> int:
        """Return an unsigned number of at most `bits` bits."""
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:  # noqa: PLR2004 - the continuation bit
                break
            if shift >= bits:
                raise _malformed()
        if value >> bits:
            raise _malformed()
        return value

    def _value(self, kind: int, depth: int) -> Any:
        if kind in _BITS:
            return self._integer(_BITS[kind])
        if kind in _FIXED:
            return self._exactly(_FIXED[kind])
        if kind == _BINARY:
            return self._exactly(self.varint(31))
        nested: dict[int, Callable[[int], Any]] = {
            _LIST: self._list,
            _SET: self._list,
            _MAP: self._map,
            _STRUCT: self.struct,
        }
        if kind not in nested or depth > MAX_DEPTH:
            raise _malformed()
        return nested[kind](depth)

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        count = self._count(self.varint(31) if head >> 4 == _LONG_LIST else head >> 4)
        return [self._item(head & 0x0F, depth + 1) for _ in range(count)]

    def _map(self, depth: int) -> list[tuple[Any, Any]]:
        count = self._count(self.varint(31))
        kinds = self._byte() if count else 0
        return [(self._item(kinds >> 4, depth + 1), self._item(kinds & 0x0F, depth + 1)) for _ in range(count)]

    def _item(self, kind: int, depth: int) -> Any:
        return self._byte() == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)

    def _count(self, count: int) -> int:
        # Every item takes at least one byte, so a larger count is wrong.
        if count > len(self._data) - self.at:
            raise _malformed()
        return count

    def _integer(self, bits: int) -> int:
        value = self.varint(bits if bits > 16 else 32)  # noqa: PLR2004 - Java reads shorter numbers as 32 bits
        number = (value >> 1) ^ -(value & 1)
        if not -(1 << bits - 1) <= number < 1 << bits - 1:
            raise _malformed()
        return number

    def _byte(self) -> int:
        if self.at >= len(self._data):
            raise _malformed()
        self.at += 1
        return self._data[self.at - 1]

    def _exactly(self, count: int) -> bytes:
        if count > len(self._data) - self.at:
            raise _malformed()
        self.at += count
        return self._data[self.at - count : self.at]


def _malformed() -> UnreadableInputError:
    return UnreadableInputError("the metadata of the Parquet file is malformed or truncated; write the file again")
