"""The protocol between a parser process and its parent: fixed-size headers, each followed by its bytes."""

import enum
import struct
from typing import Final

COMMAND: Final = struct.Struct(">BI")
"""Parent to launcher: the command, and the number of the job.

`BEGIN` also passes the descriptors of the job's socket and, if the job reads a file, of the file.
"""
FILE_FRAME: Final = 1
"""The descriptor of the job's file in a parser."""
READY: Final = b"R"
"""Launcher to parent: its imports are done."""
DOCUMENT: Final = struct.Struct(">8sQ")
"""Parent to parser: the format, and the length of the document that follows."""
ANSWER_HEAD: Final = struct.Struct(">BQ")
"""Parser to parent: the outcome, and the length of the document or message that follows."""


class ParserCommand(enum.IntEnum):
    """The commands of the launcher."""

    BEGIN = 1
    END = 2


class ParserOutcome(enum.IntEnum):
    """The outcome for a document."""

    REWRITTEN = 0
    UNREADABLE = 1
    OVERSIZED = 2
