"""SQL statements that change a setting of the session."""

import re
from typing import Final

_SET: Final = re.compile(r"^\s*SET\s+`?([\w.]+)`?\s*=", re.IGNORECASE)
_RESET: Final = re.compile(r"^\s*RESET\s+`?([\w.]+)`?", re.IGNORECASE)


def key_of_setting(statement: str) -> str | None:
    """Return the key that a `SET key = value` or `RESET key` changes, or None."""
    found = _SET.match(statement) or _RESET.match(statement)
    return found[1] if found else None
