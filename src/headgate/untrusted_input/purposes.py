"""The purposes of parser pools: their formats, limits of waiting documents, and messages for clients."""

from dataclasses import dataclass
from typing import Final

from headgate.untrusted_input.rewriters import Family


@dataclass(frozen=True, slots=True)
class Purpose:
    """The purpose of one pool. The texts may be shown to clients."""

    family: Family
    waiting: int
    """The limit of running and waiting jobs."""
    waiting_per_owner: int
    noun: str
    """The word for a document in messages."""
    verb: str
    """The verb for the work of the parser."""
    participle: str
    less: str
    """The next step for a document that needs too much memory or time."""
    again: str
    """The next step for a document that was refused for lack of a parser."""

    @property
    def lost(self) -> str:
        """The message if a parser has ended unexpectedly."""
        return (
            f"the {self.noun} could not be {self.participle}: it is malformed, or needs more memory or time than one {self.noun} "
            f"may use; {self.less}"
        )

    @property
    def slow(self) -> str:
        """The message if a parser has reached its time limit."""
        return f"the {self.noun} takes too long to {self.verb}; {self.less}"

    @property
    def down(self) -> str:
        """The message if no parser can be started."""
        return f"{self.noun}s cannot be {self.participle} at the moment; {self.again} in a few seconds"

    @property
    def busy(self) -> str:
        """The message if too many jobs wait."""
        return f"too many {self.noun}s wait to be {self.participle}; {self.again} in a few seconds"

    def larger_than(self, most: int) -> str:
        """Return the message for a document larger than `most` bytes."""
        return f"one part of the {self.noun} is larger than {most // 1024 // 1024} MiB; {self.less}"


_SEND: Final = "send the request again"
UPLOADS: Final = Purpose(Family.ROWS, 256, 64, "upload", "read", "read", "send fewer rows at once", _SEND)
SMALLER_FILES: Final = Purpose(Family.FILES, 32, 8, "file", "read", "read", "write smaller files", _SEND)
"""Each job blocks a thread of the server, so only few may wait. An owner is an organization."""
CHARTS: Final = Purpose(
    Family.CHARTS, 64, 16, "chart", "draw", "drawn", "select fewer rows or shorter strings", "request the chart again"
)
