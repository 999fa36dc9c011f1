"""Sessions in documents: commands with their output, read from the text and executed."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

BLOCK = re.compile(r"^```(\w+) (?:(run)|file=(\S+))\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""A code block with a use: `console run` has commands with their output, `LANGUAGE file=PATH` the content of a file."""

_EXIT = re.compile(r"# exit code (\d+)$")
"""The comment of a command that must fail, with its exit code."""

ANYTHING = "..."
"""In the output of a session, a line that matches any lines; at the end of a line, after a space, any rest of the line."""


NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Step:
    """A command of a session with its expected output."""

    command: str
    printed: tuple[str, ...]

    @property
    def code(self) -> int:
        """The exit code that the command must have."""
        found = _EXIT.search(self.command)
        return int(found[1]) if found else 0

    def matches(self, output: str) -> bool:
        """Whether the output is that of the document; blanks at the end of a line do not count."""
        parts = [".*\n" if line == ANYTHING else _line_pattern(line) for line in self.printed]
        lines = "".join(f"{line.rstrip()}\n" for line in output.splitlines())
        return re.fullmatch("".join(parts), lines, re.DOTALL) is not None


def _line_pattern(line: str) -> str:
    shown = line.removesuffix(f" {ANYTHING}")
    return re.escape(shown) + ("" if shown == line else " [^\n]*") + "\n"


def session(text: str) -> Iterator[Step]:
    """Yield the commands of a session: each begins after `$`, and the lines below it are its output."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *printed = part.splitlines()
        yield Step(command, tuple(line.rstrip() for line in printed))


def ran(command: str, folder: Path, known: Mapping[str, str] = NOTHING) -> subprocess.CompletedProcess[str]:
    """Run a command as a user with Headgate on the path, a wide terminal, and these environment variables."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {"PATH": path, "HOME": str(folder), "COLUMNS": "200", "LC_ALL": "C.UTF-8", **known}
    return subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=folder, env=environment, check=False, text=True, timeout=60, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
