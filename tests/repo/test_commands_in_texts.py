"""Every command that a text of the repository names exists with its options."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from headgate.cli.every_command import app

HISTORY = "adr"
"""The folder of architecture decisions, which keep the names of the time when they were written."""

SHIPPED_MODELS = Path("src/headgate/model/models")
"""The folder of shipped models; their texts keep the commands of their time, because logs name a model by its text's hash."""

IN_BACKTICKS = re.compile(r"`headgate ([a-z][^`\n]*)`")
IN_CODE = re.compile(r"^(?: {4}|\$ |\$ .*\| )headgate ([a-z].*)", re.MULTILINE)
ROOT = typer.main.get_command(app)


def texts() -> Iterator[Path]:
    """Yield the files that may name a command."""
    yield from Path().glob("*.md")
    yield from (file for file in Path("docs").rglob("*.md") if file.parent.name != HISTORY)
    for folder in ("src/headgate", "examples", "deploy"):
        files = (file for file in Path(folder).rglob("*") if file.suffix in (".py", ".yaml", ".md"))
        yield from (file for file in files if file.parent != SHIPPED_MODELS)


def named_commands(text: str) -> Iterator[str]:
    """Yield the words after `headgate` in a text, where they are code."""
    yield from IN_BACKTICKS.findall(text)
    yield from IN_CODE.findall(text)


def fault(line: str) -> str | None:
    """Return the command, option or argument in the line that does not exist; None if all exist."""
    words = re.split(r"[#|]|  ", line)[0].split()
    command: Any = ROOT
    while words and hasattr(command, "commands"):
        word = words.pop(0).rstrip(",;:.")
        if word not in command.commands:
            return f"there is no command `{word}`"
        command = command.commands[word]
    known = {name for each in command.params for name in each.opts} | {"--help"}
    unknown = [word for word in words if re.fullmatch(r"--[a-z-]+", word) and word not in known]
    return f"there is no option {unknown}" if unknown and not hasattr(command, "commands") else None


def test_every_command_that_a_text_names_exists() -> None:
    found = [(str(file), line) for file in texts() for line in named_commands(file.read_text(encoding="utf-8"))]

    assert len(found) > 200
    assert [(file, line, fault(line)) for file, line in found if fault(line)] == []


@pytest.mark.parametrize(
    "line", ["login ann", "user add val", "assignment create viewer lake.raw --to val", "organization delete x --files"]
)
def test_a_command_that_does_not_exist_is_noticed(line: str) -> None:
    assert fault(line)


@pytest.mark.parametrize(
    "line", ["status", "auth", "auth login ann  # asks", "user create val | cat", "log verify --seal FILE"]
)
def test_a_command_that_exists_is_no_fault(line: str) -> None:
    assert fault(line) is None
