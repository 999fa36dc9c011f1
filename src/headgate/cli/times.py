"""Times that users write: an ISO 8601 time, or an offset such as `+30d`."""

import re
import time
from datetime import UTC, datetime

from headgate.cli.errors import ApiError

_OFFSET = re.compile(r"([+-]\d+(?:\.\d+)?)([dhm])")
_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0}


def read_time(text: str, base: float) -> float:
    """Return a time in seconds since the epoch; an offset is added to `base`, and a time without a zone is in UTC.

    Raises `ValueError` for any other text.
    """
    offset = _OFFSET.fullmatch(text)
    if offset:
        return base + float(offset[1]) * _SECONDS[offset[2]]
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"`{text}` is not a time; write one such as `2026-11-21T09:00`, or an offset such as `+30d`"
        ) from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def parse_time_option(text: str | None) -> float | None:
    """Return a time in seconds since the epoch, None if it is left out; see `read_time`. Raises `ApiError` for a wrong text."""
    if text is None:
        return None
    try:
        return read_time(text, time.time())
    except ValueError as error:
        raise ApiError(str(error)) from None
