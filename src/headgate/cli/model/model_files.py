"""Reads and writes the files that the commands of `headgate model` take."""

import sys
from pathlib import Path

from headgate.cli.errors import describe_unreadable, describe_unwritable
from headgate.cli.output import fail


def read_or_exit(file: Path) -> str:
    """Return the text of a model file; end with exit code 2 if it cannot be read."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        fail(describe_unreadable(file, error))
        sys.exit(2)


def write_or_exit(file: Path, text: str) -> None:
    """Write a file; end with exit code 2 if it cannot be written."""
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        fail(describe_unwritable(file, error))
        sys.exit(2)
