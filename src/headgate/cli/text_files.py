"""Reads the text files that commands take."""

import sys
from pathlib import Path

from headgate.cli.errors import describe_unreadable
from headgate.cli.output import fail


def read_or_exit(file: Path) -> str:
    """Return the text of a file; end with exit code 2 if it cannot be read."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        fail(describe_unreadable(file, error))
        sys.exit(2)
