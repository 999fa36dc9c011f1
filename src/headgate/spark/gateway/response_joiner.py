"""Joining of responses: a client confirms each one by a call, so the driver's small ones are sent with the result after them."""

import time
from collections.abc import Callable
from typing import Final

from headgate.spark.gateway.protos import base
from headgate.spark.gateway.response_limits import parse_answer, read_field_numbers

_FIELDS: Final = base.ExecutePlanResponse.DESCRIPTOR.fields_by_name
_PROGRESS: Final = _FIELDS["execution_progress"].number
_DETAILS: Final = frozenset(
    _FIELDS[name].number for name in ("schema", "metrics", "observed_metrics", "execution_progress")
)
_IDS: Final = frozenset(
    _FIELDS[name].number for name in ("session_id", "server_side_session_id", "operation_id", "response_id")
)
_MAX_DETAILS: Final = 64 * 1024
"""The limit of bytes of details that wait for the result after them."""
_QUIET_SECONDS: Final = 5.0
"""Seconds after which the next response is sent at once, whatever it has. Spark reports progress every two seconds."""


class ResponseJoiner:
    """Joins the responses of one operation.

    A schema and metrics wait for the next response, because a client accepts them with any result. A progress report that reports
    nothing new is left out, unless nothing was sent for some seconds: reports show a client, and the servers in between, that a
    long statement is alive.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sent_at = clock()
        self._waiting = b""
        self._progress = base.ExecutePlanResponse.ExecutionProgress()

    def join(self, response: bytes) -> bytes | None:
        """Return the bytes to send, None to wait for the next response. Raises `DriverAnswerError`."""
        details = self._select_details(response)
        is_late = self._clock() >= self._sent_at + _QUIET_SECONDS
        if details is None or is_late or len(self._waiting) + len(details) > _MAX_DETAILS:
            self._sent_at = self._clock()
            # The bytes of two messages are those of one message with the fields of both.
            return self.take_rest() + response
        self._waiting += details
        return None

    def take_rest(self) -> bytes:
        """Return the bytes that wait, after the last response."""
        rest, self._waiting = self._waiting, b""
        return rest

    def _select_details(self, response: bytes) -> bytes | None:
        """Return the part of a response that may wait; None if it must be sent at once."""
        if len(response) > _MAX_DETAILS:
            return None
        numbers = read_field_numbers(response) - _IDS
        if not numbers or not numbers <= _DETAILS:
            return None
        return self._leave_out_progress(response) if _PROGRESS in numbers else response

    def _leave_out_progress(self, response: bytes) -> bytes | None:
        """Return a response without its progress report; None if the report is new."""
        parsed = parse_answer(base.ExecutePlanResponse, response)
        before, self._progress = self._progress, base.ExecutePlanResponse.ExecutionProgress()
        self._progress.CopyFrom(parsed.execution_progress)
        if before != self._progress:
            return None
        parsed.ClearField("execution_progress")
        rest = bytes(parsed.SerializeToString())
        return rest if read_field_numbers(rest) - _IDS else b""
