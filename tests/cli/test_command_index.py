"""The index of commands: it names every command, and a command is found in it as in the complete command line."""

from importlib import import_module
from typing import Any

import pytest
import typer
from typer.main import get_command

from headgate.cli.application import build_app
from headgate.cli.command_index import COMMANDS, find_modules


@pytest.mark.parametrize("module", COMMANDS)
def test_the_index_has_the_commands_of_each_module(module: str) -> None:
    app = typer.Typer(add_completion=False)
    import_module(f"headgate.cli.{module}").register(app)
    app.callback()(lambda: None)
    group: Any = get_command(app)

    assert tuple(group.commands) == COMMANDS[module]


def test_a_command_is_found_after_options() -> None:
    assert find_modules(["--no-such-option", "user", "list"]) == ("api.users",)
    assert find_modules(["demo"]) == ("operator.serve",)


@pytest.mark.parametrize("words", [[], ["--help"], ["--version"], ["no-such-command"], ["use"]])
def test_every_module_is_loaded_without_a_known_command(words: list[str]) -> None:
    assert find_modules(words) == tuple(COMMANDS)


def test_a_command_alone_has_the_options_that_it_has_in_the_complete_command_line() -> None:
    alone: Any = get_command(build_app(find_modules(["user"])))
    complete: Any = get_command(build_app(COMMANDS))

    assert list(alone.commands) == ["user"]
    options = [[each.opts for each in group.commands["user"].commands["list"].params] for group in (alone, complete)]
    assert options[0] == options[1]
