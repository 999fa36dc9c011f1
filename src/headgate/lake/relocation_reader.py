"""The process that reads one table for a move: `python -m` this, with a `RelocationQuestion` as JSON on its standard input.

A hostile file can end or fill this process alone. It writes a `RelocationAnswer` as one line of JSON, then the files' contents.
"""

import json
import os
import sys
from dataclasses import dataclass

from pydantic import TypeAdapter

from headgate.lake.errors import LakeError
from headgate.lake.relocated_files import relocate_files
from headgate.lake.relocation import Relocation
from headgate.untrusted_input.limits import limit_memory


@dataclass(frozen=True, slots=True)
class RelocationQuestion:
    """Which table is read, where it will lie, and how many bytes of memory that may take."""

    old: str
    new: str
    metadata_location: str
    memory: int


@dataclass(frozen=True, slots=True)
class RelocationAnswer:
    """The files to write, by their paths and sizes; or why the table cannot be moved."""

    files: tuple[tuple[str, int], ...] = ()
    error: str = ""


def main() -> None:
    """Read the table that the standard input names."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # What a library prints is no answer.
    question = TypeAdapter(RelocationQuestion).validate_json(sys.stdin.buffer.read())
    limit_memory(question.memory)
    files = dict[str, bytes]()
    try:
        files = relocate_files(Relocation(question.old, question.new), question.metadata_location)
        said = {"files": [(path, len(content)) for path, content in files.items()]}
    except LakeError as error:
        said = {"error": str(error)}
    except OSError as error:
        said = {"error": f"a file cannot be used ({error.strerror})"}
    except Exception as error:  # noqa: BLE001 (the files are those of a table's writer)
        said = {"error": f"its files cannot be read ({type(error).__name__})"}
    answers.write(json.dumps(said).encode() + b"\n")
    answers.writelines(files.values())
    answers.close()


if __name__ == "__main__":
    main()
