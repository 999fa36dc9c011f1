"""`headgate auth change-password` and `headgate session`, against the endpoints of logins."""

import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headgate.cli import passwords
from headgate.cli.every_command import app
from headgate.cli.session_file import kept_session
from tests.cli.logins import serve_logins, use_deployment
from tests.control.authentication.auth_services_harness import PASSWORD
from tests.endpoints.auth.auth_harness import AuthHarness

NEW = "another horse entirely"
NUMBERS = count()


@pytest.fixture(scope="module")
def world() -> Iterator[AuthHarness]:
    with serve_logins() as served:
        yield served


@pytest.fixture(autouse=True)
def name(world: AuthHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The login name of a user of this test, who is logged in at the command line."""
    use_deployment(monkeypatch, world.url, tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    name = f"user{next(NUMBERS)}"
    world.member(name)
    assert log_in(name).exit_code == 0
    return name


def run(*words: str, stdin: str = "") -> Result:
    return CliRunner().invoke(app, list(words), input=stdin)


def log_in(name: str, password: str = PASSWORD) -> Result:
    return run("auth", "login", name, "--password-stdin", stdin=f"{password}\n")


def listed() -> list[list[str]]:
    """Return the cells of the rows of `headgate session list`."""
    return [re.split(r" {2,}", line.strip()) for line in run("session", "list").stdout.splitlines()[1:]]


def begin_elsewhere(world: AuthHarness, name: str) -> str:
    """Log the user in on another machine; return the id of that session."""
    return world.auth_services.authentication.log_in(
        name, PASSWORD, {"address": "10.0.0.7", "agent": "a browser"}
    ).session.id


def test_a_user_changes_their_password(world: AuthHarness, name: str) -> None:
    begin_elsewhere(world, name)

    done = run("auth", "change-password", "--password-stdin", stdin=f"{PASSWORD}\n{NEW}\n")

    assert done.stdout == "your password is changed; your other sessions have ended\n"
    assert len(listed()) == 1
    assert log_in(name, NEW).exit_code == 0


def test_the_password_prompt_does_not_show_the_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "has_terminal", lambda: True)

    done = run("auth", "change-password", stdin=f"{PASSWORD}\n{NEW}\n{NEW}\n")

    assert done.exit_code == 0, done.output
    assert "Old password" in done.output
    assert PASSWORD not in done.output
    assert NEW not in done.output


def test_a_wrong_old_password_is_refused(name: str) -> None:
    done = run("auth", "change-password", "--password-stdin", stdin=f"a wrong password\n{NEW}\n")

    assert str(done.exception) == "the old password is wrong; correct it and retry"
    assert log_in(name).exit_code == 0


def test_a_missing_new_password_is_refused(name: str) -> None:
    done = run("auth", "change-password", "--password-stdin", stdin=f"{PASSWORD}\n")

    assert done.exit_code == 2
    assert "the new password is missing" in done.stderr
    assert log_in(name).exit_code == 0


def test_a_password_without_a_terminal_names_the_option() -> None:
    done = run("auth", "change-password")

    assert done.exit_code == 2
    assert "there is no terminal to ask for the password; use `--password-stdin`" in done.stderr


def test_the_list_of_sessions_shows_where_they_are_used(world: AuthHarness, name: str) -> None:
    there = begin_elsewhere(world, name)

    rows = {row[0]: row[1:] for row in listed()}

    began, ends, *rest = rows.pop(there)
    assert rest == ["password", "10.0.0.7", "a browser"]
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\+00:00", each) for each in (began, ends))
    assert [row[-1] for row in rows.values()] == ["yes"]


def test_a_session_elsewhere_is_ended(world: AuthHarness, name: str) -> None:
    there = begin_elsewhere(world, name)

    assert run("session", "delete", there).stdout == "the session has ended\n"
    assert there not in [row[0] for row in listed()]


def test_the_session_of_the_command_line_is_ended_and_dropped(world: AuthHarness, tmp_path: Path) -> None:
    ((here, *_),) = listed()

    done = run("session", "delete", here)

    assert done.stdout == "the session has ended; you are not logged in, and HEADGATE_TOKEN is not set\n"
    assert kept_session(world.url, {"XDG_CONFIG_HOME": str(tmp_path)}) is None


def test_a_session_that_does_not_exist_is_not_ended() -> None:
    assert "you have no session `nowhere`" in str(run("session", "delete", "nowhere").exception)


@pytest.mark.parametrize(
    "words", [("auth", "change-password", "--password-stdin"), ("session", "list"), ("session", "delete", "x")]
)
def test_a_token_is_refused_because_a_login_is_needed(monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]) -> None:
    monkeypatch.setenv("HEADGATE_TOKEN", "hgt.some.token")

    done = run(*words, stdin=f"{PASSWORD}\n{NEW}\n")

    assert str(done.exception) == "this route accepts no token; log in, and send the session or its cookie"


def test_an_ended_session_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_TOKEN", "hgs.no.session")

    assert str(run("session", "list").exception).startswith(
        "your token or login is unknown to the server, expired or revoked; log in with"
    )


def test_an_empty_id_ends_no_session() -> None:
    done = run("session", "delete", "")

    assert str(done.exception) == "a name or an id is empty; pass a name or an id"
    assert len(listed()) == 1


def test_a_token_is_refused_before_a_password_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_TOKEN", "hgt.some.token")
    monkeypatch.setattr(passwords, "has_terminal", lambda: True)

    assert (
        str(run("auth", "change-password").exception)
        == "this route accepts no token; log in, and send the session or its cookie"
    )
