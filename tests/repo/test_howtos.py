"""A howto is a session that works: its files are written, its commands are run, and they print what it says."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

HOWTOS = sorted((Path(__file__).resolve().parents[2] / "docs" / "howto").glob("*.md"))

_BLOCK = re.compile(r"^```(\w+) (?:(run)|file=(\S+))\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""A block to act on: `console run` is commands with what they print, `LANGUAGE file=PATH` what stands in a file."""

_EXIT = re.compile(r"# exit code (\d+)$")
"""How a command says that it is to fail."""

ANYTHING = "..."
"""A line of a session that stands for any lines."""


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
        parts = [".*\n" if line == ANYTHING else re.escape(line) + "\n" for line in self.printed]
        lines = "".join(f"{line.rstrip()}\n" for line in output.splitlines())
        return re.fullmatch("".join(parts), lines, re.DOTALL) is not None


def session(text: str) -> Iterator[Step]:
    """Yield the commands of a session: each stands behind `$`, and below it what it prints."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *printed = part.splitlines()
        yield Step(command, tuple(line.rstrip() for line in printed))


def ran(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command as somebody would who has Headgate on the path and a wide terminal."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {"PATH": path, "HOME": str(folder), "COLUMNS": "200", "LC_ALL": "C.UTF-8"}
    return subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=folder, env=environment, check=False, text=True, timeout=60, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


@pytest.mark.parametrize("howto", HOWTOS, ids=lambda howto: howto.stem)
def test_a_howto_works_as_it_says(howto: Path, tmp_path: Path) -> None:
    for _, run, file, body in _BLOCK.findall(howto.read_text(encoding="utf-8")):
        if not run:
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).write_text(body, encoding="utf-8")
            continue
        for step in session(body):
            found = ran(step.command, tmp_path)

            assert step.matches(found.stdout), f"$ {step.command}\n{found.stdout}"
            assert found.returncode == step.code, f"$ {step.command}\n{found.stdout}"


class TestASession:
    def test_is_commands_with_what_they_print(self) -> None:
        assert list(session("$ one\na\nb\n$ two  # exit code 3\n")) == [
            Step("one", ("a", "b")),
            Step("two  # exit code 3", ()),
        ]

    def test_says_which_exit_code_a_command_ends_with(self) -> None:
        assert [step.code for step in session("$ one\n$ two  # exit code 3\n")] == [0, 3]

    def test_can_leave_lines_out(self) -> None:
        [step] = session("$ one\na\n...\nz\n")

        assert step.matches("a\nb\nc\nz\n")
        assert not step.matches("a\nb\nc\n")
        assert not step.matches("b\nz\n")
