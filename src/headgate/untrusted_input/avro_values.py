"""Avro values: decoders for each type of an Iceberg manifest, which never read beyond the available bytes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

from headgate.untrusted_input.errors import UnreadableInputError

MAX_FIELDS: Final = 1_000
"""The limit of fields of one record, such as the partition columns of a table."""
MAX_FIXED_BYTES: Final = 65_536
_MAX_WRAPS: Final = 4
"""The limit of nested wrappers of a type, as in `{"type": {"type": ...}}`."""
_OVERFLOW: Final = 64
"""The number of bits of a long."""
_MORE: Final = 0x80
_FIRST_PARTITION_FIELD: Final = 1_000
"""The first id of partition fields in Iceberg."""


class AvroScalar(Enum):
    """A scalar type."""

    BOOLEAN = auto()
    INTEGER = auto()
    TEXT = auto()
    BYTES = auto()


class AnyPartition(Enum):
    """The record of partition values, whose fields depend on the table."""

    PARTITION = auto()


@dataclass(frozen=True, slots=True)
class AvroRecord:
    """A record: its fields by Iceberg's field id, and the ids of the required ones."""

    fields: Mapping[int, "AvroShape"]
    required: frozenset[int]


@dataclass(frozen=True, slots=True)
class Items:
    """An array."""

    of: "AvroShape"


@dataclass(frozen=True, slots=True)
class Pairs:
    """A map, which Iceberg writes as an array of records with these two fields."""

    key: int
    value: int
    of: AvroScalar


AvroShape = AvroScalar | AnyPartition | AvroRecord | Items | Pairs
"""The type of a field in Iceberg's specification. A file's own schema must match it."""

_NAMES: Final = {
    AvroScalar.BOOLEAN: frozenset({"boolean"}),
    AvroScalar.INTEGER: frozenset({"int", "long"}),
    AvroScalar.TEXT: frozenset({"string"}),
    AvroScalar.BYTES: frozenset({"bytes"}),
}


class Cursor:
    """Decodes values from one block. Each method raises `UnreadableInputError` or `IndexError` if the bytes end too early."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        """The number of remaining bytes."""
        return len(self._data) - self._at

    def long(self) -> int:
        """Return an int or a long."""
        data, at = self._data, self._at
        byte = data[at]
        if byte < _MORE:  # most numbers have one byte
            self._at = at + 1
            return (byte >> 1) ^ -(byte & 1)
        value, shift = byte & 0x7F, 7
        while byte & _MORE:
            if shift >= _OVERFLOW:
                raise UnreadableInputError(
                    "a number in the Avro file has more than 64 bits; write the file again with an Iceberg library"
                )
            at += 1
            byte = data[at]
            value |= (byte & 0x7F) << shift
            shift += 7
        if value >> _OVERFLOW:
            raise UnreadableInputError(
                "a number in the Avro file has more than 64 bits; write the file again with an Iceberg library"
            )
        self._at = at + 1
        return (value >> 1) ^ -(value & 1)

    def boolean(self) -> bool:
        """Return a boolean."""
        value = self.exactly(1)[0]
        if value > 1:
            raise UnreadableInputError(
                "a boolean in the Avro file is neither true nor false; write the file again with an Iceberg library"
            )
        return value == 1

    def binary(self) -> bytes:
        """Return bytes with a length prefix."""
        return self.exactly(self.long())

    def text(self) -> str:
        """Return a string."""
        try:
            return self.binary().decode()
        except UnicodeDecodeError:
            raise UnreadableInputError(
                "a string in the Avro file is not UTF-8; write the file again with an Iceberg library"
            ) from None

    def exactly(self, length: int) -> bytes:
        """Return `length` bytes."""
        start, end = self._at, self._at + length
        if length < 0 or end > len(self._data):
            raise UnreadableInputError(
                "a length in the Avro file is negative, or extends beyond the end of its block; write the file again with an Iceberg library"
            )
        self._at = end
        return self._data[start:end]

    def count(self) -> int:
        """Return the number of items in the next part of an array; 0 at its end. Each item takes at least one byte."""
        count = self.long()
        if count < 0:
            self.long()  # the size in bytes, for readers that skip
            count = -count
        if count > self.left:
            raise UnreadableInputError(
                "an array in the Avro file states more items than there are bytes; write the file again with an Iceberg library"
            )
        return count


Decode = Callable[[Cursor], Any]


def build_decoder(written: Any, shape: AvroShape) -> Decode:
    """Return the decoder of a value. Raises `UnreadableInputError` unless the file's schema matches Iceberg's.

    Records are decoded as dictionaries by field id. `written` is the type in the file's schema.
    """
    if isinstance(written, list):
        return _optional(_required(_type_beside_null(written), shape))
    return _required(written, shape)


def _type_beside_null(union: list[Any]) -> Any:
    if len(union) != 2 or union[0] != "null":  # noqa: PLR2004 (null and the type)
        raise UnreadableInputError(
            "a union in the Avro file's schema is not of `null` and one type; write the file again with an Iceberg library"
        )
    return union[1]


def _required(written: Any, shape: AvroShape) -> Decode:
    for _ in range(_MAX_WRAPS):
        if not isinstance(written, dict) or not isinstance(written.get("type"), dict):
            break
        written = written["type"]
    if isinstance(shape, AvroScalar):
        return _scalar(written, shape)
    if isinstance(shape, AvroRecord):
        return _record(_fields(written), shape)
    if isinstance(shape, Items):
        return _items(build_decoder(_part(written, "array", "items"), shape.of))
    if isinstance(shape, Pairs):
        return _pairs(_part(written, "array", "items"), shape)
    return _partition(_fields(written))


def _scalar(written: Any, scalar: AvroScalar) -> Decode:
    name = written.get("type") if isinstance(written, dict) else written
    if not isinstance(name, str) or name not in _NAMES[scalar]:
        raise UnreadableInputError(
            "a field of the Avro file's schema has another type than in Iceberg's specification; write the file again with an Iceberg library"
        )
    return {
        AvroScalar.BOOLEAN: Cursor.boolean,
        AvroScalar.INTEGER: Cursor.long,
        AvroScalar.TEXT: Cursor.text,
        AvroScalar.BYTES: Cursor.binary,
    }[scalar]


def _record(fields: Mapping[int, Any], record: AvroRecord) -> Decode:
    if unknown := fields.keys() - record.fields.keys():
        raise UnreadableInputError(
            f"the Avro file's schema has the field id {min(unknown)}, which is not in Iceberg's specification of the record; write the file again with an Iceberg library"
        )
    if missing := record.required - fields.keys():
        raise UnreadableInputError(
            f"the Avro file's schema lacks the field id {min(missing)}; write the file again with an Iceberg library"
        )
    return _each({id: build_decoder(written, record.fields[id]) for id, written in fields.items()})


def _partition(fields: Mapping[int, Any]) -> Decode:
    if any(id < _FIRST_PARTITION_FIELD for id in fields):
        raise UnreadableInputError(
            "a partition field of the Avro file's schema has the id of another field; write the file again with an Iceberg library"
        )
    return _each({id: _partition_value(written) for id, written in fields.items()})


def _partition_value(written: Any) -> Decode:
    if isinstance(written, list):
        return _optional(_partition_value(_type_beside_null(written)))
    name = written.get("type") if isinstance(written, dict) else written
    if name == "fixed":
        size = written.get("size") if isinstance(written, dict) else None
        if type(size) is not int or not 1 <= size <= MAX_FIXED_BYTES:
            raise UnreadableInputError(
                f"a fixed type in the Avro file's schema has a size that is not between 1 and {MAX_FIXED_BYTES:,} bytes; write the file again with an Iceberg library"
            )
        return lambda cursor: cursor.exactly(size)
    known: dict[Any, Decode] = {
        "boolean": Cursor.boolean,
        "int": Cursor.long,
        "long": Cursor.long,
        "string": Cursor.text,
        "bytes": Cursor.binary,
        "float": lambda cursor: cursor.exactly(4),
        "double": lambda cursor: cursor.exactly(8),
        "null": lambda _: None,
    }
    if not isinstance(name, str) or name not in known:
        raise UnreadableInputError(
            "a partition field of the Avro file's schema has a type that is not supported; write the file again with an Iceberg library"
        )
    return known[name]


def _fields(written: Any) -> Mapping[int, Any]:
    """Return the field types of a record by field id, in the order of the file."""
    listed = _part(written, "record", "fields")
    if not isinstance(listed, list):
        raise UnreadableInputError(
            "a record in the Avro file's schema has no list of fields; write the file again with an Iceberg library"
        )
    if len(listed) > MAX_FIELDS:
        raise UnreadableInputError(
            f"a record in the Avro file's schema has more than {MAX_FIELDS:,} fields; partition the table by fewer fields"
        )
    fields: dict[int, Any] = {}
    for each in listed:
        id = each.get("field-id") if isinstance(each, dict) else None
        if type(id) is not int or id in fields or "type" not in each:
            raise UnreadableInputError(
                "a field of the Avro file's schema has no id or type, or the id of another field; write the file again with an Iceberg library"
            )
        fields[id] = each["type"]
    return fields


def _part(written: Any, kind: str, name: str) -> Any:
    if not isinstance(written, dict) or written.get("type") != kind or name not in written:
        raise UnreadableInputError(
            "a field of the Avro file's schema has another type than in Iceberg's specification; write the file again with an Iceberg library"
        )
    return written[name]


def _optional(decode: Decode) -> Decode:
    def read(cursor: Cursor) -> Any:
        branch = cursor.long()
        if branch == 0:
            return None
        if branch != 1:
            raise UnreadableInputError(
                "a value in the Avro file is of a type that its union does not have; write the file again with an Iceberg library"
            )
        return decode(cursor)

    return read


def _each(fields: Mapping[int, Decode]) -> Decode:
    readers = tuple(fields.items())
    return lambda cursor: {id: decode(cursor) for id, decode in readers}


def _items(decode: Decode) -> Decode:
    def read(cursor: Cursor) -> list[Any]:
        items: list[Any] = []
        while count := cursor.count():
            items.extend([decode(cursor) for _ in range(count)])
        return items

    return read


def _pairs(written: Any, pairs: Pairs) -> Decode:
    fields = _fields(written)
    if list(fields) != [pairs.key, pairs.value]:
        raise UnreadableInputError(
            "a map in the Avro file's schema has other fields than its key and value; write the file again with an Iceberg library"
        )
    key, value = build_decoder(fields[pairs.key], AvroScalar.INTEGER), build_decoder(fields[pairs.value], pairs.of)

    def read(cursor: Cursor) -> dict[int, Any]:
        found: dict[int, Any] = {}
        total = 0
        while count := cursor.count():
            total += count
            for _ in range(count):
                at = key(cursor)
                found[at] = value(cursor)
        if len(found) != total or None in found:
            raise UnreadableInputError(
                "a map in the Avro file has a duplicate or missing key; write the file again with an Iceberg library"
            )
        return found

    return read
