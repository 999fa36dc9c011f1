"""The help sets the commands that work on the data folder of this machine apart from those that call the API."""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from headgate.cli import app

PROGRAMS: Final = {
    "setup": "fetches and compiles what a server needs",
    "serve": "is the server",
    "worker": "is a worker process",
    "demo": "is the demo",
    "doctor": "looks at everything",
    "status": "asks the server and Spark at once",
    "api": "sends any request, as `gh api` does",
    "sql": "sends any statement, as `psql` does",
}
"""Commands that are no act on a noun, and what they are instead."""

VERBS: Final = {
    *(
        "list",
        "show",
        "create",
        "delete",
        "add",
        "remove",
        "set",
        "change",
        "save",
        "check",
        "explain",
        "export",
        "import",
    ),
    *("grant", "revoke", "accept", "erase", "login", "logout", "whoami", "run", "backfill", "cancel", "retry"),
    *("activate", "deactivate", "pause", "resume", "suspend", "clean", "backup", "restore", "move", "rotate", "seal"),
    *("verify", "diff", "document", "fmt", "test", "what"),
}
"""The first words of verbs; `whoami`, `fmt`, `diff` and `what-if` are verbs of `kubectl`, `go` and `az`."""

OPTIONS: Final = {
    "action": "an action that a token is limited to",
    "after": "a revision that a list begins behind",
    "api-port": "the port of the API",
    "assignee": "the subject that an assignment in question is for",
    "at": "the time of a question",
    "check": "whether files are only looked at",
    "context": "a parameter of a question",
    "data": "the data folder",
    "days": "how long a token is valid",
    "detach": "whether a command returns before the run has ended",
    "domain": "whether a domain is created in place of a team",
    "dry-run": "whether nothing is changed",
    "email": "an address of a user",
    "engine": "the engine, or the reference",
    "entry": "the entry at which cases ask",
    "files": "the folder of files that an import uses",
    "follow": "whether a log is shown until its run has ended",
    "format": "the form of rows",
    "from": "a property of another catalog",
    "header-file": "a file of HTTP headers",
    "hours": "how long break-glass lasts",
    "http": "the address of an HTTP API",
    "jars": "a folder of jars",
    "json": "whether JSON is printed",
    "keep-former": "whether the former key is kept",
    "label": "the purpose of a token",
    "limit": "the most rows",
    "login": "the name of a login",
    "model": "an access model by its name",
    "model-file": "the file of an access model",
    "name": "another name than that in a file",
    "new-role": "the role that replaces another",
    "once": "whether the demo ends by itself",
    "only": "the id of a case",
    "organization": "an organization",
    "output": "the file that is written",
    "owner": "the first owner of an organization",
    "param": "a parameter of a statement",
    "parent": "the resource above",
    "password": "whether the command asks for a password",
    "password-file": "the file of a password",
    "password-stdin": "whether the password comes from the standard input",
    "pipeline": "a pipeline",
    "postgresql": "the address of a database",
    "principal": "the principal that a token acts as",
    "reason": "the reason, which the audit keeps",
    "related": "resources that a question also concerns",
    "replaces": "the token that ends with a new one",
    "resource": "a resource",
    "resume": "whether an interrupted rotation goes on",
    "reveal": "whether an explanation shows what the subject may not see",
    "revision": "the revision of a question",
    "role": "a role",
    "scope": "a scope of the model",
    "seal": "a seal that was kept elsewhere",
    "since": "the begin of a period",
    "spark-port": "the port of Spark Connect",
    "sslmode": "how a database proves itself",
    "state": "the state of a run",
    "step": "the length of a piece",
    "subject": "the subject of an assignment or of a question",
    "tree": "the first resources of an organization",
    "until": "the end of a period",
    "user": "the user of a database",
    "with-files": "whether files are deleted too",
    "without-password": "whether a user gets no password",
    "yes": "whether no confirmation is asked for",
}
"""What each option means, wherever it is one."""

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

    assert {"store", "deployment-user", "organization", "serve"} <= local
    assert {"user", "token", "log", "api"} <= calling
    assert not calling & local


@pytest.mark.parametrize(
    ("group", "calling", "local"),
    [
        ("log", {"show"}, {"verify", "accept", "seal", "rotate"}),
        ("deployment-user", set(), {"create", "set-password", "list", "erase"}),
    ],
)
def test_the_help_of_a_group_sets_local_commands_apart(group: str, calling: set[str], local: set[str]) -> None:
    assert sections(group) == (calling, local)


def test_the_help_of_a_local_command_says_that_it_uses_no_token() -> None:
    assert "used without a token" in CliRunner().invoke(app, ["deployment-user", "erase", "--help"]).stdout.replace(
        "\n", " "
    )


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every command that is no group, with its words."""
    if not hasattr(command, "commands"):
        yield path, command
        return
    for name, each in command.commands.items():
        yield from leaves(each, (*path, name))


COMMANDS: Final = dict(leaves(get_command(app)))


def test_the_commands_that_are_no_act_on_a_noun_are_programs() -> None:
    assert {words[0] for words in COMMANDS if len(words) == 1} == set(PROGRAMS)


@pytest.mark.parametrize("words", [words for words in COMMANDS if len(words) > 1], ids=" ".join)
def test_a_command_is_a_noun_and_a_verb(words: tuple[str, ...]) -> None:
    noun, verb = words

    assert not noun.endswith("s") or noun in ("access", "facts", "break-glass")
    assert verb.split("-")[0] in VERBS


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_is_shown_and_says_what_it_and_its_options_do(words: tuple[str, ...]) -> None:
    command = COMMANDS[words]

    assert not command.hidden
    assert command.help
    assert [each.name for each in command.params if each.param_type_name == "option" and not each.help] == []


def test_an_option_has_one_name_and_one_meaning_in_all_commands() -> None:
    options = [each for command in COMMANDS.values() for each in command.params if each.param_type_name == "option"]
    names = {name for each in options for name in (*each.opts, *each.secondary_opts)}

    assert names == {f"--{name}" for name in OPTIONS}
