"""Headers of CSV files, read within limits: any user of a connection's folder may have written their bytes."""

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from headgate.pipelines.load_errors import LoadError

MAX_HEADER_BYTES: Final = 1 << 20
MAX_COLUMNS: Final = 20_480
"""The maximum number of columns that Spark reads from a CSV file."""
_LINE_ENDS: Final = b"\r\n"


def require_one_header(files: Iterable[Path]) -> None:
    """Raise `LoadError` if CSV files differ in their columns, or a header is too long to be read.

    A stream reads all files of a batch with one schema. Empty files have no header and fit any other file.
    """
    first: tuple[Path, list[str]] | None = None
    for each in files:
        header = read_header(each)
        if header is None:
            continue
        if first is None:
            first = each, header
        elif header != first[1]:
            raise LoadError(
                f"`{first[0].name}` and `{each.name}` have different columns and cannot be loaded together; move one of them "
                "away until the other is loaded"
            )


def read_header(file: Path) -> list[str] | None:
    """Return the column names in the first line of a CSV file, or None if the file is empty. Raises `LoadError`."""
    line = _read_first_line(file)
    if line is None:
        return None
    if line.count(b",") >= MAX_COLUMNS:
        raise LoadError(f"the header of `{file.name}` has more than {MAX_COLUMNS:,} columns; write fewer columns")
    try:
        return next(csv.reader((line.decode(errors="replace"),)))
    except csv.Error:
        most = csv.field_size_limit()
        raise LoadError(
            f"the header of `{file.name}` has a name of more than {most:,} characters; "
            "write only the names of the columns in the first line"
        ) from None


def _read_first_line(file: Path) -> bytes | None:
    with file.open("rb") as opened:
        beginning = opened.read(MAX_HEADER_BYTES).lstrip(_LINE_ENDS)
        is_whole = not opened.read(1)
    ends = [at for at in map(beginning.find, (b"\r", b"\n")) if at >= 0]
    if not ends and not is_whole:
        raise LoadError(
            f"the header of `{file.name}` is longer than {MAX_HEADER_BYTES >> 20} MiB; "
            "write only the names of the columns in the first line"
        )
    return beginning[: min(ends)] if ends else beginning or None
