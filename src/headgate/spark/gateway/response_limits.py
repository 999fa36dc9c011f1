"""Size limits of the driver's responses that are parsed on the event loop: parsing blocks all other calls."""

from collections.abc import Sized
from typing import Any, Final

from google.protobuf.message import DecodeError

from headgate.spark.gateway.errors import DriverAnswerError

LARGEST_ANSWER: Final = 16 * 1024 * 1024
"""The limit of bytes of a response. Rows are not parsed."""
LARGEST_LISTING: Final = 1024 * 1024
"""The limit of bytes of a response that only names operations or streams."""


def parse_answer(kind: Any, answer: bytes, most: int = LARGEST_ANSWER) -> Any:
    """Return a response parsed as a message of `kind`. Raises `DriverAnswerError` for more than `most` bytes or others."""
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
