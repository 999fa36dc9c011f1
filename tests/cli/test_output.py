"""What the command line prints: control characters in other users' text reach no terminal."""

import ast
import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.text import Text
from rich.tree import Tree

import headgate.cli
from headgate.cli.output import (
    EscapingConsole,
    build_progress,
    fail,
    format_time,
    note,
    print_drawing,
    print_table,
    say,
    write_csv,
    write_json,
    write_text,
)

ATTACK = "\x1b]0;pwned\x1b[31mRED\x9b2J\u202ecba"
SHOWN = r"\x1b]0;pwned\x1b[31mRED\x9b2J\u202ecba"


def test_a_table_outside_a_terminal_prints_every_row_in_full_on_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")

    print_table(("id", "label"), [("t-" + "a" * 60, "a label of several words " * 5)])

    _, row = capsys.readouterr().out.splitlines()
    assert row.rstrip() == f"t-{'a' * 60}  {'a label of several words ' * 5}".rstrip()


@pytest.mark.parametrize(
    ("seconds", "written"), [(None, ""), (0.5, "1970-01-01 00:00:00+00:00"), (1e300, "1e+300 s after 1970")]
)
def test_a_time_is_printed_in_readable_form(seconds: float | None, written: str) -> None:
    assert format_time(seconds) == written


def _table(text: str) -> None:
    print_table((text,), [(text,)])


def _tree(text: str) -> None:
    print_drawing(Tree(Text(text)))


@pytest.mark.parametrize("show", [say, note, fail, _table, _tree])
def test_text_of_another_user_is_printed_with_escaped_control_characters(
    show: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    show(ATTACK)

    printed = capsys.readouterr()
    assert SHOWN in printed.out + printed.err
    assert set(printed.out + printed.err) & set("\x1b\x9b\u202e") == set()


def test_a_console_on_a_terminal_obeys_its_own_control_characters_only() -> None:
    stream = io.StringIO()
    console = EscapingConsole(file=stream, force_terminal=True, width=200, color_system="standard")

    console.print(Text(ATTACK, style="red"))
    with console.status(build_progress(f"[link=file:///etc]{ATTACK}")):
        pass

    assert f"\x1b[31m{SHOWN}\x1b[0m" in stream.getvalue()
    assert "\x9b" not in stream.getvalue()
    assert "\x1b]" not in stream.getvalue()


def test_json_is_printed_with_escaped_control_characters_and_the_same_value(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_json({"v": ATTACK})

    printed = capsys.readouterr().out
    assert json.loads(printed) == {"v": ATTACK}
    assert printed.isascii()


@pytest.mark.parametrize(("terminal", "shown"), [(True, SHOWN), (False, ATTACK)])
def test_data_is_printed_unchanged_except_to_a_terminal(
    *, terminal: bool, shown: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal, raising=False)

    write_csv([("v",), (ATTACK,)])
    write_text(f"{ATTACK}\n")

    lines = capsys.readouterr().out.splitlines()
    assert next(csv.reader(lines[1:2])) == [shown]
    assert lines[2] == shown


def test_a_single_module_of_the_command_line_prints() -> None:
    """Another module would print the control characters of other users' text."""
    folder = Path(headgate.cli.__file__).parent
    found = {
        f"{file.relative_to(folder)}: {ast.unparse(node)}"
        for file in folder.rglob("*.py")
        if file.name != "output.py"
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if _prints(node)
    }

    assert found == set()


def _prints(node: ast.AST) -> bool:
    """Return whether code prints by itself: by `print`, a stream, a console of its own or the print of the one there is."""
    match node:
        case ast.Name(id="print" | "Console" | "EscapingConsole"):
            return True
        case ast.Call(func=ast.Attribute(attr="echo" | "secho" | "print" | "out" | "log", value=ast.Name(id=owner))):
            return owner in ("typer", "click", "rich", "console", "errors")
        case ast.Attribute(value=ast.Name(id="sys"), attr="stdout" | "stderr" | "__stdout__" | "__stderr__"):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name(id="status"), attr="update"), args=[argument]):
            return not (isinstance(argument, ast.Call) and ast.unparse(argument.func) == "build_progress")
        case _:
            return False


@pytest.mark.parametrize(
    ("variables", "colours"), [({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)]
)
def test_no_colour_is_printed_if_the_user_wants_none(variables: dict[str, str], *, colours: bool) -> None:
    words = [sys.executable, "-c", "from headgate.cli.output import fail; fail('no')"]

    done = subprocess.run(
        words, env={**os.environ, "TERM": "xterm", **variables}, capture_output=True, text=True, check=True
    )

    assert "headgate: no" in done.stderr.replace("\x1b[31m", "").replace("\x1b[0m", "")
    assert ("\x1b[31m" in done.stderr) is colours


def test_a_line_break_in_a_cell_forges_no_row(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("purpose",), [("a report\nq_fake  approved",)])

    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert printed == ["purpose", r"a report\x0aq_fake  approved"]
