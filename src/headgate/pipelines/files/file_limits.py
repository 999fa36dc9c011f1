"""Limits on the parts of a file that Spark holds in memory at once, checked on its copy: a huge value would kill the driver."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from headgate.pipelines.load_errors import EndedError, LoadError
from headgate.untrusted_input.blocking_pool import BlockingPool
from headgate.untrusted_input.errors import UntrustedInputError

MAX_LINE_BYTES: Final = 16 << 20
"""The maximum length of a line of CSV or JSON: a line is one row, which Spark holds as a whole."""
MAX_DOCUMENT_BYTES: Final = 64 << 20
"""The maximum size of a JSON document of many rows, which Spark holds as a whole; a page of an API has the same limit."""
_PIECE: Final = 4 << 20
"""At most `MAX_LINE_BYTES`, so that no line within one piece is too long."""

Bound = Callable[[Path, Callable[[], bool]], None]
"""Checks a file, given whether the run has to end; raises `LoadError`, without the file's name, or `EndedError`."""


def require_short_lines(file: Path, has_to_end: Callable[[], bool]) -> None:
    """Raise `LoadError` if a line is longer than `MAX_LINE_BYTES`."""
    so_far = 0
    with file.open("rb", buffering=0) as opened:
        while piece := opened.read(_PIECE):
            if has_to_end():
                raise EndedError
            ends = [at for at in (piece.find(b"\n"), piece.find(b"\r")) if at >= 0]
            so_far += min(ends, default=len(piece))
            if so_far > MAX_LINE_BYTES:
                raise LoadError(
                    f"a line of the file is longer than {MAX_LINE_BYTES >> 20} MiB; write one row in each line"
                )
            if ends:
                so_far = len(piece) - 1 - max(piece.rfind(b"\n"), piece.rfind(b"\r"))


def require_small_document(file: Path, _: Callable[[], bool]) -> None:
    """Raise `LoadError` if a file is larger than `MAX_DOCUMENT_BYTES`."""
    if file.stat().st_size > MAX_DOCUMENT_BYTES:
        raise LoadError(
            f"the file is a JSON document of more than {MAX_DOCUMENT_BYTES >> 20} MiB; write one document in each line, "
            "with the format `json_lines`"
        )


def parquet_bound(parsers: BlockingPool, owner: str) -> Bound:
    """Return the check of Parquet files against the limits of `untrusted_input.parquet`, in processes shared by all owners."""

    def require_small_pages(file: Path, _: Callable[[], bool]) -> None:
        with file.open("rb") as opened:
            try:
                parsers.rewrite(owner, b"parquet", (b"",), lambda _: None, opened.fileno())
            except UntrustedInputError as error:
                raise LoadError(str(error)) from None

    return require_small_pages
