"""The fields of a driver's response, read from its tags alone: most responses are rows, which are not copied."""

from typing import Final

from headgate.spark.gateway.errors import DriverAnswerError
from headgate.spark.gateway.protos import base

MAX_FIELDS: Final = 1_000
"""The limit of fields of a response."""
_LENGTH_DELIMITED: Final = 2
_LONGEST_NUMBER: Final = 64
"""The limit of a varint, in bits."""
_FIELDS: Final = base.ExecutePlanResponse.DESCRIPTOR.fields_by_name
_EVERY: Final = frozenset(each.number for each in _FIELDS.values())
_DETAILS: Final = frozenset(_FIELDS[name].number for name in ("schema", "metrics", "observed_metrics"))
_IDS: Final = frozenset(
    _FIELDS[name].number for name in ("session_id", "server_side_session_id", "operation_id", "response_id")
)
_MAX_DETAILS: Final = 64 * 1024
"""The limit of bytes of details that wait for the result after them."""


def read_field_numbers(response: bytes) -> frozenset[int]:
    """Return the numbers of the fields of an `ExecutePlanResponse`; those of all fields, if a field has an unusual type.

    Raises `DriverAnswerError` for too many fields.
    """
    at, numbers = 0, list[int]()
    while at < len(response):
        if len(numbers) == MAX_FIELDS:
            raise DriverAnswerError
        tag, at = _varint(response, at)
        if tag & 7 != _LENGTH_DELIMITED:
            return _EVERY
        numbers.append(tag >> 3)
        size, at = _varint(response, at)
        at += size
    return frozenset(numbers) if at == len(response) else _EVERY


def has_only_details(response: bytes) -> bool:
    """Return whether a response has no result, only a schema or metrics, which a client accepts with any result too.

    A client confirms each response by a call, so the details are sent together with the result after them.
    """
    if len(response) > _MAX_DETAILS:
        return False
    numbers = read_field_numbers(response) - _IDS
    return bool(numbers) and numbers <= _DETAILS


def _varint(response: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(response):
        if shift > _LONGEST_NUMBER:
            raise DriverAnswerError
        value |= (response[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not response[at - 1] & 0x80:
            break
    return value, at
