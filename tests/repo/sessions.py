"""Sessions in documents: commands with what they print, read and run."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

BLOCK = re.compile(r"^```(\w+) (?:(run)|file=(\S+))\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""A block to act on: `console run` is commands with what they print, `LANGUAGE file=PATH` what stands in a file."""

_EXIT = re.compile(r"# exit code (\d+)$")
"""How a command says that it is to fail."""

ANYTHING = "..."
"""A line of a session for any lines; at the end of a line, after a space, for the rest of the line."""


NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Step:
    """A command of a session, and what it prints."""

    command: str
    printed: tuple[str, ...]

    @property
    def code(self) -> int:
        """The exit code that the command is to end with."""
        found = _EXIT.search(self.command)
        return int(found[1]) if found else 0

    def matches(self, output: str) -> bool:
        """Say whether the output is what the howto shows; blanks at the end of a line do not count."""
        parts = [".*\n" if line == ANYTHING else _line_pattern(line) for line in self.printed]
        lines = "".join(f"{line.rstrip()}\n" for line in output.splitlines())
        return re.fullmatch("".join(parts), lines, re.DOTALL) is not None


def _line_pattern(line: str) -> str:
    shown = line.removesuffix(f" {ANYTHING}")
    return re.escape(shown) + ("" if shown == line else " [^\n]*") + "\n"


def session(text: str) -> Iterator[Step]:
    """Yield the commands of a session: each stands behind `$`, and below it what it prints."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *printed = part.splitlines()
        yield Step(command, tuple(line.rstrip() for line in printed))


def ran(command: str, folder: Path, known: Mapping[str, str] = NOTHING) -> subprocess.CompletedProcess[str]:
    """Run a command as somebody would who has Headgate on the path, a wide terminal, and these variables set."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {"PATH": path, "HOME": str(folder), "COLUMNS": "200", "LC_ALL": "C.UTF-8", **known}
    return subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=folder, env=environment, check=False, text=True, timeout=60, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
