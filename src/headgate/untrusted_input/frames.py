"""What a parser process and its parent send each other: fixed-size heads, each followed by its bytes."""

import enum
import struct
from typing import Final

COMMAND: Final = struct.Struct(">BI")
"""Parent to launcher: what to do, and the number of the job.

`BEGIN` carries the job's socket beside it, and the file that the job reads, if it reads one.
"""
FILE_FRAME: Final = 1
"""The descriptor at which a parser finds the file of its job."""
READY: Final = b"R"
"""Launcher to parent: its imports are done."""
DOCUMENT: Final = struct.Struct(">8sQ")
"""Parent to parser: the format, and the length of the document that follows."""
ANSWER_HEAD: Final = struct.Struct(">BQ")
"""Parser to parent: the outcome, and the length of the document or message that follows."""


class ParserCommand(enum.IntEnum):
    """What the launcher is asked for."""

    BEGIN = 1
    END = 2


class ParserOutcome(enum.IntEnum):
    """What became of a document."""

    REWRITTEN = 0
    UNREADABLE = 1
    OVERSIZED = 2
