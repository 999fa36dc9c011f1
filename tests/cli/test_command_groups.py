"""The help sets the commands that work on the data folder of this machine apart from those that call the API."""

import pytest
from typer.testing import CliRunner

from headgate.cli import app

LOCAL = "On the data folder of this machine"


def sections(*words: str) -> tuple[set[str], set[str]]:
    """Return the commands that call the API, and those that work on the data folder."""
    shown = CliRunner().invoke(app, [*words, "--help"]).stdout
    calling, _, local = shown.partition(LOCAL)
    return _names(calling.partition("Commands:")[2]), _names(local.partition("\n")[2])


def _names(lines: str) -> set[str]:
    return {line.split()[0] for line in lines.splitlines() if line.startswith("  ") and line[2] != " "}


def test_the_help_sets_local_commands_apart() -> None:
    calling, local = sections()

    assert {"backup", "forget", "users", "organization", "serve"} <= local
    assert {"user", "token", "log", "api"} <= calling
    assert not calling & local


@pytest.mark.parametrize(
    ("group", "calling", "local"),
    [("log", {"show"}, {"verify", "accept", "seal", "rotate"}), ("users", set(), {"create", "password", "list"})],
)
def test_the_help_of_a_group_sets_local_commands_apart(group: str, calling: set[str], local: set[str]) -> None:
    assert sections(group) == (calling, local)


def test_the_help_of_a_local_command_says_that_it_uses_no_token() -> None:
    assert "used without a token" in CliRunner().invoke(app, ["forget", "--help"]).stdout.replace("\n", " ")
