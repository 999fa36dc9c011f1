"""Commands are spelled noun, then verb; an option means one thing; the help sets local commands apart."""

import re
import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from headgate.cli.command_groups import HEADINGS
from headgate.cli.every_command import app

LOCAL = "On the data folder of this machine"

PROGRAMS: Mapping[str, str] = {
    "setup": "prepares this machine: Java, the Iceberg jar, the guard",
    "serve": "is the server",
    "worker": "is a process beside the server",
    "demo": "is a server with a story",
    "doctor": "checks the whole deployment, as `brew doctor` does",
    "status": "reports about the deployment and the caller, as `gh status` does",
    "api": "calls any path of the HTTP API, as `gh api` does",
    "sql": "runs a statement on Spark, which names its own objects",
}
"""The commands without a noun: programs that are no act on one, each with its reason."""

NOUNS_WITH_S = {"access", "facts", "break-glass"}
"""Nouns that end with `s` and are not the plural of a noun that has a command."""

VERBS = frozenset(
    (
        *("list", "show", "create", "delete", "add", "remove", "set", "save", "check", "explain", "diff", "test"),
        *("grant", "revoke", "accept", "approve", "reject", "terminate", "dismiss", "login", "logout"),
        *("change", "rename", "move", "describe", "erase", "suspend", "resume", "enable", "disable"),
        *("export", "import", "install", "upgrade", "backup", "restore", "seal", "verify", "rotate", "document", "fmt"),
        *("run", "backfill", "activate", "deactivate", "pause", "clean", "cancel", "retry"),
    )
)
"""The verbs of commands, alone (`list`) or with an object (`add-member`)."""

IDIOMS: Mapping[str, str] = {
    "auth whoami": "the word of every command line for the question about oneself",
    "access what-if": "the term of the field for an analysis of changes that are not made",
    "facts what-if": "the term of the field for an analysis of changes that are not made",
}
"""The commands that are no verb, each with its reason."""

OPTIONS: Mapping[str, str] = {
    "--acts-in": "the team in which the principal of a token acts",
    "--action": "the only action that a token is valid for, or that is shown",
    "--actor": "the only actor whose changes are shown",
    "--after": "the revision after which entries are shown",
    "--api-port": "the port of the HTTP endpoints",
    "--approved": "create an approved agreement",
    "--at": "the time of a decision",
    "--change-file": "a file with a change",
    "--check": "change nothing; tell by the exit code whether a file would change",
    "--consumer": "the consumer of an agreement",
    "--context": "another parameter of a question",
    "--data": "the data folder on this machine",
    "--denials": "list the denials that no small change allows",
    "--days": "the days after which a token expires",
    "--description": "a new description",
    "--detach": "do not wait for the end of a run",
    "--details-file": "a file with relations and attributes",
    "--domain": "create a domain in place of a team",
    "--endpoint": "the only endpoint whose entries are shown",
    "--dry-run": "change nothing; show what would be done",
    "--email": "the e-mail address of a user",
    "--engine": "the implementation that decides",
    "--entry": "the interface that questions go through",
    "--files": "a folder or prefix that may contain files of imported tables",
    "--follow": "show new lines until a run has ended",
    "--from": "the other catalog that tables come from",
    "--header-file": "a file with HTTP headers",
    "--hours": "the hours after which privileges expire",
    "--http": "the base URL of an HTTP API",
    "--jars": "a folder with the Iceberg jar",
    "--keep-former": "keep the former keys",
    "--label": "the purpose of a token",
    "--limit": "the most rows or entries to show",
    "--login": "the login name of a new user",
    "--model": "the access model of a new organization",
    "--model-file": "a model file in place of the shipped model of that name",
    "--name": "a new name",
    "--new-role": "the role that replaces another in an assignment",
    "--once": "end after the demo",
    "--only": "the only case to run",
    "--organization": "the organization that a command works on",
    "--output": "the format of an output",
    "--output-file": "the file to write",
    "--own": "show only the requests of the caller",
    "--owner": "the login name of the first owner of an organization",
    "--param": "the value of a parameter in a statement",
    "--parent": "the resource above another",
    "--password": "ask for the password at the terminal, not in a browser",
    "--password-file": "a file with a password",
    "--password-stdin": "read the password from stdin",
    "--pipeline": "the only pipeline whose runs are shown",
    "--port": "the only port whose agreements are shown",
    "--postgresql": "the address of a PostgreSQL database",
    "--project": "a project of the organization",
    "--principal": "the principal that a token, a question or an entry is about",
    "--purpose": "the purpose of an access",
    "--reason": "the reason, which the audit keeps",
    "--related": "other resources that a question is about",
    "--replaces": "the token that is revoked at the same time",
    "--request": "the request that created an assignment",
    "--resource": "the resource that a new object belongs to or is valid for, or that is shown",
    "--resume": "finish an interrupted rotation of keys",
    "--reveal": "show also what the principal may not see",
    "--revision": "the revision to use",
    "--role": "a role of the model",
    "--scope": "a scope of the model",
    "--seal": "a file with seals",
    "--since": "the start of a range",
    "--spark-port": "the port of Spark Connect",
    "--sslmode": "the TLS mode of a database connection",
    "--state": "the only state that is shown",
    "--step": "the range of one run",
    "--subject": "the subject of an assignment",
    "--tree": "the access model of the ownership tree",
    "--type": "the only type that is shown",
    "--until": "the end of a range, or of an access",
    "--user": "the user of a database",
    "--version": "the version of an access model",
    "--waiting": "show only the requests that the caller could approve",
    "--with-files": "delete the files too",
    "--without-password": "set no password",
    "--yes": "do not ask for confirmation",
    "-o": "the same as `--output`",
}
"""The options of all commands, and the one thing that each means."""

METAVARS: Mapping[str, str] = {
    "--until": "a time, or a cursor value of a backfill",
    "--since": "a time, or a cursor value of a backfill",
    "--principal": "a name at the server; an id in a facts file, which has no names",
}
"""The options with several metavars, each with the reason."""

PRIVATE_WORDS = re.compile(
    r"\b(who|whom|whose|whoever|somebody|someone|nobody|everybody|anybody|anyone|anew|--(why|to|for|as|on|place|out))\b"
)
"""What no help says: it names the actor."""


def commands_of(command: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every command and group below a command, with its words."""
    for name, each in getattr(command, "commands", {}).items():
        yield (*path, name), each
        yield from commands_of(each, *path, name)


ALL = dict(commands_of(typer.main.get_command(app)))
LEAVES = {words: each for words, each in ALL.items() if not hasattr(each, "commands")}
GROUPS = {words: each for words, each in ALL.items() if hasattr(each, "commands")}
PARAMETERS = [(words, each) for words, command in LEAVES.items() for each in command.params]
NAMED = [(words, each) for words, each in PARAMETERS if each.param_type_name == "option"]


def sections(*words: str) -> tuple[set[str], set[str]]:
    """Return the commands that call the API, and those that work on the data folder."""
    shown = CliRunner().invoke(app, [*words, "--help"]).stdout
    calling, _, local = shown.partition(LOCAL)
    return _names(calling.partition("--help ")[2]), _names(local.partition("\n")[2])


def _names(lines: str) -> set[str]:
    return {line.split()[0] for line in lines.splitlines() if line.startswith("  ") and line[2] != " "}


def test_commands_without_a_noun_are_programs() -> None:
    assert {words[0] for words in LEAVES if len(words) == 1} == set(PROGRAMS)


def test_every_other_command_is_a_noun_and_a_verb() -> None:
    acts = [words for words in LEAVES if len(words) > 1]

    assert [words for words in acts if len(words) != 2] == []
    odd = {" ".join(words) for words in acts if words[1].partition("-")[0] not in VERBS}
    assert odd == set(IDIOMS)
    assert {words[1].partition("-")[0] for words in acts if " ".join(words) not in IDIOMS} == VERBS


def test_every_noun_is_in_the_singular() -> None:
    assert {words[0] for words in GROUPS if words[0].endswith("s")} == NOUNS_WITH_S


def test_no_command_and_no_option_is_hidden_or_deprecated() -> None:
    assert [words for words, each in ALL.items() if each.hidden or each.deprecated] == []
    assert [(words, each.name) for words, each in NAMED if each.hidden] == []


def test_every_option_is_in_the_table_of_options_and_no_other() -> None:
    assert {name for _, each in NAMED for name in (*each.opts, *each.secondary_opts)} == set(OPTIONS)


def test_an_option_has_one_name_in_the_code_and_a_name_one_option() -> None:
    options, names = defaultdict(set), defaultdict(set)
    for _, each in NAMED:
        options[each.name].add(each.opts[0])
        names[each.opts[0]].add(each.name)

    assert {name: found for name, found in (options | names).items() if len(found) > 1} == {}


def test_an_option_has_one_metavar() -> None:
    metavars = defaultdict(set)
    for _, each in NAMED:
        if not each.is_flag and each.opts[0] not in METAVARS:
            metavars[each.opts[0]].add(each.metavar or "")

    assert {name: found for name, found in metavars.items() if len(found) > 1} == {}


def test_an_argument_has_a_metavar_in_capitals() -> None:
    arguments = [
        (words, each.metavar or each.name.upper()) for words, each in PARAMETERS if each.param_type_name == "argument"
    ]

    assert [(words, name) for words, name in arguments if name != name.upper()] == []


def test_an_option_is_a_switch_everywhere_or_nowhere() -> None:
    kinds = defaultdict(set)
    for _, each in NAMED:
        kinds[each.opts[0]].add(each.is_flag)

    assert [name for name, found in kinds.items() if len(found) > 1] == []


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_the_help_of_every_command_is_plain_english(words: tuple[str, ...]) -> None:
    command = ALL[words]
    said = [command.help, *(each.help for each in command.params if each.name != "help")]

    assert all(said), "a text is missing"
    assert [text for text in said if PRIVATE_WORDS.search(text)] == []


def test_the_version_is_that_of_the_installed_package() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout == f"headgate {version('headgate')}\n"


def test_the_help_sets_local_commands_apart() -> None:
    calling, local = sections()

    assert {"store", "deployment-user", "operator", "organization", "serve"} <= local
    assert {"user", "token", "log", "api", "facts"} <= calling
    assert not calling & local


def test_every_command_has_one_heading() -> None:
    _, local = sections()
    named = [name for names in HEADINGS.values() for name in names]
    assert sorted([*named, *local]) == sorted({words[0] for words in ALL})


@pytest.mark.parametrize("title", HEADINGS)
def test_the_help_has_the_headings_of_topics(title: str) -> None:
    assert f"\n{title}:\n" in CliRunner().invoke(app, ["--help"]).stdout


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_the_help_of_a_command_ends_with_an_example_that_is_valid(words: tuple[str, ...]) -> None:
    command = LEAVES[words]
    intro, _, line = (command.epilog or "").partition("Example: headgate ")
    given = shlex.split(line)

    assert intro == ""
    assert tuple(given[: len(words)]) == words
    command.make_context(" ".join(words), given[len(words) :])  # raises a `UsageError` for a wrong line
    shown = " ".join(CliRunner().invoke(app, [*words, "--help"]).stdout.split())
    assert shown.endswith(f"Example: headgate {' '.join(line.split())}")


@pytest.mark.parametrize(
    ("group", "calling", "local"),
    [
        ("log", {"show"}, {"verify", "accept", "seal", "rotate-key"}),
        ("deployment-user", set(), {"create", "set-password", "list", "erase"}),
    ],
)
def test_the_help_of_a_group_sets_local_commands_apart(group: str, calling: set[str], local: set[str]) -> None:
    assert sections(group) == (calling, local)


def test_the_help_of_a_local_command_says_that_it_uses_no_token() -> None:
    shown = CliRunner().invoke(app, ["deployment-user", "erase", "--help"]).stdout
    assert "used without a token" in " ".join(shown.split())
