"""The process that reads one table for a move: run with `python -m`, with a `RelocationQuestion` as JSON on standard input.

A hostile file can only crash this process or fill its memory. It writes a `RelocationAnswer` as one line of JSON, then the
contents of the files.
"""

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from headgate.lake.errors import LakeError
from headgate.lake.relocated_files import relocate_files
from headgate.lake.relocation import Relocation
from headgate.untrusted_input.limits import limit_memory


@dataclass(frozen=True, slots=True)
class RelocationQuestion:
    """The table to read, its old and new location, and the memory limit in bytes."""

    old: str
    new: str
    metadata_location: str
    memory: int


@dataclass(frozen=True, slots=True)
class RelocationAnswer:
    """The files to write, with their paths and sizes; or the error if the table cannot be moved."""

    files: tuple[tuple[str, int], ...] = ()
    error: str = ""


def main() -> None:
    """Read the table that standard input names."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # Output that a library prints must not mix with the results.
    question = TypeAdapter(RelocationQuestion).validate_json(sys.stdin.buffer.read())
    limit_memory(question.memory)
    files = dict[str, bytes]()
    try:
        files = relocate_files(Relocation(question.old, question.new), question.metadata_location)
        said = {"files": [(path, len(content)) for path, content in files.items()]}
    except Exception as error:  # noqa: BLE001 (a table's writer made the files)
        said = {"error": _explain(error)}
    answers.write(json.dumps(said).encode() + b"\n")
    answers.writelines(files.values())
    answers.close()


def _explain(error: Exception) -> str:
    if isinstance(error, LakeError):
        return str(error)
    # Libraries raise an `OSError` without a file's name for a file that they cannot parse.
    if isinstance(error, OSError) and error.filename is not None:
        name = Path(str(error.filename)).name
        return f"the table's file `{name}` cannot be read ({error.strerror}); restore the file from a backup, or give the operating-system user that runs this command read access to it"
    return f"a file of the table cannot be parsed ({type(error).__name__}); restore the file from a backup"


if __name__ == "__main__":
    main()
