"""Marks: a session writes its mark into all its data, so that the owner of any data that it sees is known."""

import re
from dataclasses import dataclass

_MARK = re.compile(r"m4rk_([a-z0-9]+)_([a-z0-9]+)")
TABLE = "table"
"""The part of the mark that replaces the session in the rows of a person's own table."""


class LeakError(AssertionError):
    """A session has seen data of another session."""


class LostError(AssertionError):
    """A session has not seen its own data."""


@dataclass(frozen=True)
class Owner:
    """A session of a person."""

    person: str
    session: str

    @property
    def mark(self) -> str:
        """Return the mark that this session writes."""
        return f"m4rk_{self.person}_{self.session}"

    @property
    def row_mark(self) -> str:
        """Return the mark in the person's table, which is the same for all sessions of the person."""
        return f"m4rk_{self.person}_{TABLE}"

    def require_own(self, seen: object) -> None:
        """Raise `LeakError` if `seen` contains the mark of another session."""
        for person, session in _MARK.findall(str(seen)):
            if person != self.person or session not in (self.session, TABLE):
                raise LeakError(f"{self.mark} has seen m4rk_{person}_{session}: {str(seen)[:300]}")
