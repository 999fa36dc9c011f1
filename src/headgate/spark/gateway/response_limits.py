"""Bounds of the driver's answers that are parsed on the event loop, where every other call waits."""

from collections.abc import Sized
from typing import Any, Final

from headgate.spark.gateway.errors import DriverAnswerError

LARGEST_ANSWER: Final = 16 * 1024 * 1024
"""Bytes. Rows are not parsed."""
LARGEST_LISTING: Final = 1024 * 1024
"""Bytes of an answer that only names operations or streams."""


def parse_answer(kind: Any, answer: bytes, most: int = LARGEST_ANSWER) -> Any:
    """Return an answer as a message of a kind. Raises `DriverAnswerError` for one of more bytes than may be parsed."""
    if len(answer) > most:
        raise DriverAnswerError
    return kind.FromString(answer)


def require_few_parts(parts: Sized, most: int) -> None:
    """Raise `DriverAnswerError` for more parts than Spark sends."""
    if len(parts) > most:
        raise DriverAnswerError
