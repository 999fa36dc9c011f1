"""Marks: whatever a session writes bears one, so that whatever it sees tells whose it is."""

import re
from dataclasses import dataclass

_MARK = re.compile(r"m4rk_([a-z0-9]+)_([a-z0-9]+)")
TABLE = "table"
"""What stands for the session in the rows of a person's own table."""


class LeakError(AssertionError):
    """A session has seen what is another's."""


class LostError(AssertionError):
    """A session has not seen what it made itself."""


@dataclass(frozen=True)
class Owner:
    """A session of a person."""

    person: str
    session: str

    @property
    def mark(self) -> str:
        """Return what this session writes."""
        return f"m4rk_{self.person}_{self.session}"

    @property
    def row_mark(self) -> str:
        """Return what stands in the person's table, for all sessions of the person."""
        return f"m4rk_{self.person}_{TABLE}"

    def require_own(self, seen: object) -> None:
        """Raise `LeakError` if what was seen bears anybody else's mark."""
        for person, session in _MARK.findall(str(seen)):
            if person != self.person or session not in (self.session, TABLE):
                raise LeakError(f"{self.mark} has seen m4rk_{person}_{session}: {str(seen)[:300]}")
