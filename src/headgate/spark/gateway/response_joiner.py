"""Joining of responses: a client confirms each one by a call, so the driver's small ones are sent with the result after them."""

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
_PROGRESS: Final = _FIELDS["execution_progress"].number
_DETAILS: Final = frozenset(
    _FIELDS[name].number for name in ("schema", "metrics", "observed_metrics", "execution_progress")
)
_IDS: Final = frozenset(
    _FIELDS[name].number for name in ("session_id", "server_side_session_id", "operation_id", "response_id")
)
_MAX_DETAILS: Final = 64 * 1024
"""The limit of bytes of details that wait for the result after them."""


class ResponseJoiner:
    """Joins the responses of one operation.

    A schema and metrics wait for the next response, because a client accepts them with any result. So does a progress report that
    reports nothing new, which the next result replaces.
    """

    def __init__(self) -> None:
        self._waiting = b""
        self._progress = base.ExecutePlanResponse.ExecutionProgress()

    def join(self, response: bytes) -> bytes | None:
        """Return the bytes to send, None to wait for the next response. Raises `DriverAnswerError`."""
        # The bytes of two messages are those of one message with the fields of both, and the last of two results.
        joined = self._waiting + response
        self._waiting = joined if self._may_wait(response) and len(joined) <= _MAX_DETAILS else b""
        return None if self._waiting else joined

    def take_rest(self) -> bytes:
        """Return the bytes that wait, after the last response."""
        rest, self._waiting = self._waiting, b""
        return rest

    def _may_wait(self, response: bytes) -> bool:
        if len(response) > _MAX_DETAILS:
            return False
        numbers = read_field_numbers(response) - _IDS
        if not numbers or not numbers <= _DETAILS:
            return False
        return _PROGRESS not in numbers or not self._is_new(base.ExecutePlanResponse.FromString(response))

    def _is_new(self, response: base.ExecutePlanResponse) -> bool:
        before, self._progress = self._progress, response.execution_progress
        return before != self._progress


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
