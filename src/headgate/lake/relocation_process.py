"""Reads a table's files for a move in a separate process: a hostile file can end neither the command nor the next move."""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict
from typing import IO, Final

from pydantic import TypeAdapter, ValidationError

from headgate.lake.containment import is_inside
from headgate.lake.errors import RuleError
from headgate.lake.relocation import Relocation
from headgate.lake.relocation_reader import RelocationAnswer, RelocationQuestion
from headgate.untrusted_input.limits import MEBIBYTE

_MEMORY_BYTES: Final = 2048 * MEBIBYTE
_SECONDS: Final = 1800.0
_LONGEST_LINE: Final = 64 * MEBIBYTE
_LONGEST_ERROR: Final = 500
_OURS: Final = "HEADGATE_"
_READER: Final = "headgate.lake.relocation_reader"
_LOST: Final = (
    "the table's files could not be read: a file is malformed, or the files need more memory or time than "
    "one table may use; call the procedure `rewrite_manifests` for the table first"
)
_ANSWER: Final = TypeAdapter(RelocationAnswer)


def read_relocated(relocation: Relocation, metadata_location: str) -> dict[str, bytes]:
    """Return the rewritten files that contain paths, by their paths after the move. Raises `RuleError`."""
    question = RelocationQuestion(relocation.old, relocation.new, metadata_location, _MEMORY_BYTES)
    with tempfile.TemporaryFile() as answers:
        try:
            subprocess.run(
                [sys.executable, "-P", "-m", _READER],
                input=json.dumps(asdict(question)).encode(),
                stdout=answers,
                stderr=subprocess.DEVNULL,
                env={name: value for name, value in os.environ.items() if not name.startswith(_OURS)},
                timeout=_SECONDS,
                check=True,
            )
        except subprocess.CalledProcessError as error:
            raise RuleError(f"{_LOST}; the reader ended with exit code {error.returncode}") from None
        except subprocess.TimeoutExpired:
            raise RuleError(_LOST) from None
        answers.seek(0)
        return files_of_answer(answers, relocation)


def files_of_answer(answers: IO[bytes], relocation: Relocation) -> dict[str, bytes]:
    """Return the files in the process's output. Paths outside the new location are refused: a hostile file may control it."""
    try:
        answer = _ANSWER.validate_json(answers.readline(_LONGEST_LINE))
    except ValidationError:
        raise RuleError(_LOST) from None
    if answer.error:
        raise RuleError(answer.error[:_LONGEST_ERROR])
    found = {path: answers.read(max(size, 0)) for path, size in answer.files}
    is_whole = all(len(found[path]) == size for path, size in answer.files)
    if not is_whole or not all(is_inside(relocation.new, path) for path in found):
        raise RuleError(_LOST)
    return found
