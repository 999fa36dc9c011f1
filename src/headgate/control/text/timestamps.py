"""Times as RFC 3339 text, in which the requests of clients name them."""

from datetime import datetime


def parse_timestamp(text: str) -> float:
    """Return an RFC 3339 time as seconds since the epoch. Raises `ValueError` for anything else, `OverflowError` out of range."""
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError("the time has no zone; add one, such as `Z` or `+01:00`")
    return found.timestamp()
