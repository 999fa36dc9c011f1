"""Bounds of the driver's answers that are parsed on the event loop, where every other call waits."""

from collections.abc import Sized
from typing import Final

from headgate.spark.gateway.errors import DriverAnswerError

LARGEST_ANSWER: Final = 16 * 1024 * 1024
"""Bytes. Rows are not parsed."""


def require_bounded_answer(answer: bytes) -> None:
    """Raise `DriverAnswerError` for an answer that takes long to parse."""
    if len(answer) > LARGEST_ANSWER:
        raise DriverAnswerError


def require_few_parts(parts: Sized, most: int) -> None:
    """Raise `DriverAnswerError` for more parts than Spark sends."""
    if len(parts) > most:
        raise DriverAnswerError
