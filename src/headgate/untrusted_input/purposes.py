"""What pools of parsers are for: the formats that they read, how many documents may wait, and what a client is told."""

from dataclasses import dataclass
from typing import Final

from headgate.untrusted_input.rewriters import Family


@dataclass(frozen=True, slots=True)
class Purpose:
    """What one pool is for. The texts are sentences that a client may read."""

    family: Family
    waiting: int
    """Jobs that run or wait."""
    waiting_per_owner: int
    noun: str
    """What a document is to a client."""
    verb: str
    """What is done with it."""
    participle: str
    less: str
    """What the client can do about one that needs too much."""
    again: str
    """What the client can do about one that was not at fault."""

    @property
    def lost(self) -> str:
        """A parser has ended."""
        return (
            f"the {self.noun} could not be {self.participle}: it is malformed, or needs more memory or time than one {self.noun} "
            f"may use; {self.less}"
        )

    @property
    def slow(self) -> str:
        """A parser has taken all of its time."""
        return f"the {self.noun} takes too long to {self.verb}; {self.less}"

    @property
    def down(self) -> str:
        """No parser can be started."""
        return f"{self.noun}s cannot be {self.participle} at the moment; {self.again} in a few seconds"

    @property
    def busy(self) -> str:
        """Too many jobs wait."""
        return f"too many {self.noun}s wait to be {self.participle}; {self.again} in a few seconds"

    def larger_than(self, most: int) -> str:
        """Return what is said of a document of more bytes than `most`."""
        return f"one part of the {self.noun} is larger than {most // 1024 // 1024} MiB; {self.less}"


_SEND: Final = "send this one again"
UPLOADS: Final = Purpose(Family.ROWS, 256, 64, "upload", "read", "read", "send fewer rows at once", _SEND)
SMALLER_FILES: Final = Purpose(Family.FILES, 32, 8, "file", "read", "read", "write smaller files", _SEND)
"""Each job has a thread of the server waiting for it, so few of them wait. An owner is an organization."""
CHARTS: Final = Purpose(
    Family.CHARTS, 64, 16, "chart", "draw", "drawn", "select fewer rows or shorter texts", "request this one again"
)
