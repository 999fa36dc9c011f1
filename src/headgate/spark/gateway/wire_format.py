"""Parsing of a message's bytes with bounded memory and time, even if few bytes encode many messages."""

from functools import cache
from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError

from headgate.spark.gateway.errors import RequestRefusedError, TooComplexError

MAX_PARTS: Final = 250_000
"""The limit of parts of one request, as `message_types` counts them; the same as the guard's limit of expressions."""
TOO_MANY_PARTS: Final = f"the request has more than {MAX_PARTS:,} expressions, fields and values; split it, or write its rows to a table first"
_SCANNED_BYTES: Final = 4 * 1024 * 1024
"""Messages up to this size are parsed without a scan: parsing takes at most 0.2 s and 100 MB."""
_MAX_RECORDS: Final = 4 * MAX_PARTS
"""The limit of fields on the wire. A literal in a list has three."""
_MAX_UNKNOWN_BYTES: Final = 64 * 1024
LENGTH_DELIMITED: Final = 2
_FIXED: Final = {0: 0, 1: 8, 5: 4}
"""Wire type -> the bytes of a value, or 0 for a varint."""
_LONG: Final = 128
"""The smallest byte that is not the last of a varint."""


def parse_message(kind: Any, data: bytes) -> Any:
    """Return the message in the bytes. Raises `DecodeError`, `RequestRefusedError`. Runs on an `inspector` thread."""
    if len(data) > _SCANNED_BYTES:
        _require_few_records(kind.DESCRIPTOR, data)
    message = kind.FromString(data)
    size = message.ByteSize()
    message.DiscardUnknownFields()
    unknown = size - message.ByteSize()
    if unknown > _MAX_UNKNOWN_BYTES:
        raise RequestRefusedError("the request has many fields that Headgate does not know; use a PySpark 4.1 client")
    # Keep a few unknown fields, so that the check can name the message that contains them.
    return kind.FromString(data) if unknown else message


@cache
def _inner(descriptor: Descriptor) -> dict[int, Descriptor | None]:
    """Return the fields that can hold many values: field number -> its message type, or None for packed scalars."""
    packed = {
        field.number: None
        for field in descriptor.fields
        if field.is_repeated and field.type not in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES)
    }
    return packed | {field.number: field.message_type for field in descriptor.fields if field.message_type is not None}


def _require_few_records(descriptor: Descriptor, data: bytes) -> None:
    """Raise `TooComplexError` if there are too many fields on the wire, `DecodeError` for malformed bytes."""
    try:
        _scan(descriptor, data)
    except IndexError:
        raise DecodeError("the request is truncated: its bytes end within a field; use a PySpark 4.1 client") from None


def _scan(descriptor: Descriptor, data: bytes) -> None:
    position, end, inner = 0, len(data), _inner(descriptor)
    outer: list[tuple[int, dict[int, Descriptor | None]]] = []
    records = 0
    while position < end or outer:
        if position == end:
            end, inner = outer.pop()
            continue
        records += 1
        tag, position = read_varint(data, position)
        if tag & 7 != LENGTH_DELIMITED:
            position = _skip_scalar(data, position, tag & 7)
        else:
            size, position = read_varint(data, position)
            if position + size > end:
                raise DecodeError(
                    "the request is malformed: a field is longer than its message; use a PySpark 4.1 client"
                )
            number = tag >> 3
            if number not in inner:  # a string, bytes, or an unknown field
                position += size
            elif (below := inner[number]) is None:
                position += size
                records += size
            else:
                outer.append((end, inner))
                end, inner = position + size, _inner(below)
        if records > _MAX_RECORDS:
            raise TooComplexError(TOO_MANY_PARTS)
        if position > end:
            raise DecodeError("the request is malformed: a field is longer than its message; use a PySpark 4.1 client")


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """Return the number at a position, and the position after it."""
    byte = data[position]
    position += 1
    if byte < _LONG:
        return byte, position
    value, shift = byte - _LONG, 7
    while (byte := data[position]) >= _LONG:
        value |= (byte - _LONG) << shift
        shift += 7
        position += 1
        if shift > 63:  # noqa: PLR2004 (no number has more bits)
            raise DecodeError("the request is malformed: a number has more than 64 bits; use a PySpark 4.1 client")
    return value | byte << shift, position + 1


def _skip_scalar(data: bytes, position: int, wire_type: int) -> int:
    size = _FIXED.get(wire_type)
    if size is None:  # a group, which no message of Spark has
        raise DecodeError("the request is malformed: a field has an unknown wire type; use a PySpark 4.1 client")
    return position + size if size else read_varint(data, position)[1]
