"""Size limits of the driver's responses that are parsed on the event loop: parsing blocks all other calls."""

from collections.abc import Sized
from typing import Any, Final

from google.protobuf.message import DecodeError

from headgate.spark.gateway.errors import DriverAnswerError
from headgate.spark.gateway.protos import base
from headgate.spark.gateway.wire_format import LENGTH_DELIMITED, read_varint

LARGEST_ANSWER: Final = 16 * 1024 * 1024
"""The limit of bytes of a response. Rows are not parsed."""
LARGEST_LISTING: Final = 1024 * 1024
"""The limit of bytes of a response that only names operations or streams."""
MAX_FIELDS: Final = 1_000
"""The limit of fields of a result."""
_EVERY: Final = frozenset(each.number for each in base.ExecutePlanResponse.DESCRIPTOR.fields)


def parse_answer(kind: Any, answer: bytes, most: int = LARGEST_ANSWER) -> Any:
    """Return a response parsed as a message of `kind`. Raises `DriverAnswerError` for more than `most` bytes, and for other bytes."""
    if len(answer) > most:
        raise DriverAnswerError
    try:
        return kind.FromString(answer)
    except DecodeError:
        raise DriverAnswerError from None


def require_few_parts(parts: Sized, most: int) -> None:
    """Raise `DriverAnswerError` for more than `most` parts, as many as Spark sends."""
    if len(parts) > most:
        raise DriverAnswerError


def read_field_numbers(response: bytes) -> frozenset[int]:
    """Return the numbers of the fields of an `ExecutePlanResponse`; those of all fields, if one has an unusual type or is cut off.

    Only the tags are read: most responses are rows, which are not copied. Raises `DriverAnswerError` for too many fields.
    """
    at, numbers = 0, list[int]()
    try:
        while at < len(response):
            if len(numbers) == MAX_FIELDS:
                raise DriverAnswerError
            tag, at = read_varint(response, at)
            if tag & 7 != LENGTH_DELIMITED:
                return _EVERY
            numbers.append(tag >> 3)
            size, at = read_varint(response, at)
            at += size
    except IndexError:
        return _EVERY
    except DecodeError:
        raise DriverAnswerError from None
    return frozenset(numbers) if at == len(response) else _EVERY
