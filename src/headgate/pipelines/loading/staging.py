"""What an API gives, as JSON lines in the run's own folder, from where Spark reads it."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from headgate.pipelines.files.disk_space import PIECE, require_room
from headgate.pipelines.loading.paging import Answer


def stage(answers: Iterable[Answer], folder: Path) -> int:
    """Write every record into one file of a new folder, and return how many there are.

    Raises `LoadError` where the disk has no room for them.
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
    # Half of a surrogate pair has no form in UTF-8; as a backslash escape it is what JSON has for it.
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode(errors="backslashreplace") + b"\n"


def _pieces(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines joined, so that the disk is not looked at for each of them."""
    piece = bytearray()
    for line in lines:
        piece += line
        if len(piece) >= PIECE:
            yield bytes(piece)
            piece.clear()
    yield bytes(piece)
