"""The list of every message of the program, for a review: by file, with the call that takes the text.

A message is a text of at least three words that is not a docstring: of an error, a refusal, a log line, a finding, a
description of the API. The help of the command line comes last. Texts for machines - SQL, HTML, patterns, Spark's plans - are left out
by the call that takes them or by their form. `python -m tools.docs.message_list 100 18` prints a sample of 100 messages with the seed 18.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
SOURCES: Final = ROOT / "src" / "headgate"

FOR_MACHINES: Final = frozenset(
    (
        *("sql", "execute", "text", "SQL", "expr", "compile", "where", "Template", "HTMLResponse", "ddl", "fullmatch"),
        *("Option", "Argument", "add_command_group", "sub", "match", "search", "removeprefix", "partition", "split"),
    )
)
"""Calls whose texts are for programs, or which the help of the command line shows."""

FEWEST_WORDS: Final = 3
_CODE = re.compile(
    r"\s*(?:<|SELECT |CREATE |DROP |INSERT |ALTER |UPDATE |DELETE FROM |WITH |CALL |[\^(]|[A-Z_]+ [A-Z_]+ )|.*[;{}]\n|.*\\[(dn]|if \(|\w+\[\] "
)
_SCALA = re.compile(r'//[^\n]*|/\*.*?\*/|"""(.*?)"""|"((?:\$\{[^}\n]*\}|[^"\\\n]|\\.)*)"', re.DOTALL)
_JOINED = re.compile(r'"\s*\+\s*s?"')
_ERROR = re.compile(r"Error$|^Refusal$|^(?:problem\w*|fail|_?refuse\w*|bad_request|Misfit|Finding|deny\w*)$")


@dataclass(frozen=True)
class Message:
    """A text, its file, and the call or constant that has it."""

    file: str
    owner: str
    text: str

    @property
    def is_fault(self) -> bool:
        """Whether the message reports a fault."""
        return bool(_ERROR.search(self.owner)) or self.file.endswith(".scala")


def message_list(command: Any) -> str:
    """Return the page: the messages of Python and Scala, and the help of a Typer command."""
    lines = [
        "# Every message of the program. Written by `pytest tests/repo/test_messages.py --update`; read it from top to bottom.\n"
    ]
    file = ""
    for message in messages():
        if message.file != file:
            file = message.file
            lines.append(f"\n## {file}\n\n")
        lines.append(f"{message.owner}: {message.text}\n")
    return "".join([*lines, "\n## The help of the command line\n\n", *(f"{line}\n" for line in command_help(command))])


def messages() -> Iterator[Message]:
    """Yield the messages of every source file, in the order of the files and of their lines."""
    for path in sorted(SOURCES.rglob("*")):
        name = path.relative_to(SOURCES).as_posix()
        if path.suffix == ".py":
            yield from (Message(name, owner, text) for owner, text in python_messages(path.read_text("utf-8")))
        if path.suffix == ".scala":
            yield from (Message(name, "guard", text) for text in scala_messages(path.read_text("utf-8")))


def python_messages(source: str) -> Iterator[tuple[str, str]]:
    """Yield the owner and the text of each message of a module."""
    yield from _Collector().collect(ast.parse(source))


def scala_messages(source: str) -> Iterator[str]:
    """Yield the messages of a Scala file; concatenated strings are one message."""
    for found in _SCALA.finditer(_JOINED.sub("", source)):
        text = found[1] or found[2]
        if text and _is_message(text) and " = new " not in text:  # generated Java is no message
            yield _one_line(text)


def command_help(command: Any, words: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the help of a command, of its options and of the commands below it."""
    words = (*words, command.name or "")
    yield f"{' '.join(words)}: {_one_line(command.help or '')}"
    for each in command.params:
        if getattr(each, "help", None):
            yield f"{' '.join(words)} {each.opts[-1]}: {_one_line(each.help)}"
    for _, below in sorted(getattr(command, "commands", {}).items()):
        yield from command_help(below, words)


class _Collector:
    """Collects the messages of a module; an f-string is one message, with its parts."""

    def collect(self, node: ast.AST, owner: str = "module") -> Iterator[tuple[str, str]]:
        owner = _owner(node) or owner
        if owner in FOR_MACHINES:
            return
        text = _text(node)
        if text is not None:
            if _is_message(text):
                yield owner, _one_line(text)
            return
        for child in ast.iter_child_nodes(node):
            if not _is_docstring(child):
                yield from self.collect(child, owner)


def _owner(node: ast.AST) -> str | None:
    if isinstance(node, ast.Call):
        return ast.unparse(node.func).split(".")[-1].split("(")[0]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return next((each.id for each in targets if isinstance(each, ast.Name) and each.id.isupper()), None)


def _text(node: ast.AST) -> str | None:
    """Return a string with its placeholders in braces; None for another node."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_part(each) for each in node.values)
    return None


def _part(node: ast.expr) -> str:
    return f"{{{ast.unparse(node.value)}}}" if isinstance(node, ast.FormattedValue) else _text(node) or ""


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _is_message(text: str) -> bool:
    words = re.sub(r"\{[^{}]*\}|`[^`]*`", "x", text).split()
    return (
        len(words) >= FEWEST_WORDS
        and not _CODE.match(text)
        and any(word.isalpha() and word.islower() for word in words)
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())


def sample(found: Iterable[Message], count: int, seed: int) -> list[Message]:
    """Return a random sample of the messages about faults, by a seed, in their order."""
    faults = [each for each in found if each.is_fault]
    return sorted(Random(seed).sample(faults, count), key=faults.index)  # noqa: S311 (no secret)


if __name__ == "__main__":
    for drawn in sample(messages(), *map(int, sys.argv[1:3])):
        print(f"{drawn.file}: {drawn.owner}: {drawn.text}")
