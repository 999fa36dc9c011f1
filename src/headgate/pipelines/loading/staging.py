"""Staging of an API's records as JSON lines in the run's own folder, from which Spark reads them."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from headgate.pipelines.files.disk_space import PIECE, require_room
from headgate.pipelines.loading.paging import Answer


def stage(answers: Iterable[Answer], folder: Path) -> int:
    """Write all records into one file of a new folder, and return their number.

    Raises `LoadError` if the disk has no space for them.
    """
    folder.mkdir(parents=True)
    count = 0
    with (folder / "records.jsonl").open("wb") as file:
        for answer in answers:
            for piece in _pieces(map(_line, answer.records)):
                require_room(file.fileno(), len(piece))
                file.write(piece)
            count += len(answer.records)
    return count


def _line(record: Any) -> bytes:
    # A lone surrogate cannot be encoded in UTF-8; its backslash escape is valid in JSON.
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode(errors="backslashreplace") + b"\n"


def _pieces(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines joined into large pieces, so that disk space is not checked for each line."""
    piece = bytearray()
    for line in lines:
        piece += line
        if len(piece) >= PIECE:
            yield bytes(piece)
            piece.clear()
    yield bytes(piece)
