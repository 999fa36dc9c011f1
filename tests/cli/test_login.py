"""`headgate login` and `logout`, against the doors of logins."""

import json
import re
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headgate.cli import app
from headgate.cli.api import ApiError, call
from headgate.cli.kept import forget, keep, kept_session
from headgate.control.logins.sessions import Session
from tests.control.logins.world import HOME, PASSWORD
from tests.doors.identity.world import World
from tests.threads import served


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    found = World()
    found.now = time.time()
    with served(found.app) as url:
        found.url = url
        yield found
    found.audit.close()


@pytest.fixture
def home(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, on a machine that is not the deployment's."""
    for name, value in {"HEADGATE_URL": world.url, "XDG_CONFIG_HOME": str(tmp_path), "NO_PROXY": "*"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("HEADGATE_TOKEN", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str, stdin: str = "") -> Result:
    return CliRunner().invoke(app, list(words), input=stdin)


def log_in(password: str = PASSWORD) -> Result:
    return run("login", "ann", "--password-stdin", stdin=f"{password}\n")


class TestLoggingIn:
    def test_makes_the_commands_that_follow_ones_own(self, world: World, home: Path) -> None:
        with pytest.raises(ApiError, match="headgate login"):
            call("GET", "/me")
        assert log_in().exit_code == 0

        assert call("GET", "/me")["principal"] == world.ann

    def test_keeps_the_session_where_nobody_else_reads_it(self, home: Path) -> None:
        log_in()

        file = home / "headgate" / "sessions.json"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        assert PASSWORD not in file.read_text()

    def test_asks_for_what_was_not_said(self, home: Path) -> None:
        result = run("login", "--password", stdin=f"ann\n{PASSWORD}\n")

        assert result.exit_code == 0, result.output
        assert PASSWORD not in result.output

    def test_with_a_password_from_the_standard_input_needs_a_name(self, home: Path) -> None:
        result = run("login", "--password-stdin", stdin=f"{PASSWORD}\n")

        assert "`--password-stdin` needs a login name" in str(result.exception)

    def test_with_a_wrong_password_says_so_and_keeps_nothing(self, world: World, home: Path) -> None:
        result = log_in("a wrong password")

        assert isinstance(result.exception, ApiError)
        assert "not the login name and password" in str(result.exception)
        assert kept_session(world.url, {"XDG_CONFIG_HOME": str(home)}) is None

    def test_by_a_browser_waits_until_somebody_lets_it_in(self, world: World, home: Path) -> None:
        answering = threading.Thread(target=_answer, args=(world,), kwargs={"allow": True})
        answering.start()
        result = run("login")
        answering.join()

        assert result.exit_code == 0, result.output
        assert re.search(
            rf"open {world.url}/oauth2/device\?user_code=\S+ and let the code \S{{4}}-\S{{4}} in", result.output
        )
        assert call("GET", "/me")["principal"] == world.ann

    def test_by_a_browser_ends_when_it_is_kept_out(self, world: World, home: Path) -> None:
        answering = threading.Thread(target=_answer, args=(world,), kwargs={"allow": False})
        answering.start()
        result = run("login")
        answering.join()

        assert "not let in" in str(result.exception)


def _answer(world: World, *, allow: bool) -> None:
    """Enter the code that a device shows, somewhere else."""
    store = world.organizations.deployment.store
    while not (codes := store.documents("device")):
        time.sleep(0.01)
    world.entrance.devices.answer(next(iter(codes)), _session(world), world.now, allow=allow)


def _session(world: World) -> Session:
    return world.entrance.logins.log_in("ann", PASSWORD, HOME).session


class TestLoggingOut:
    def test_ends_the_session_there_and_here(self, world: World, home: Path) -> None:
        log_in()
        session = kept_session(world.url, {"XDG_CONFIG_HOME": str(home)})
        assert session is not None

        assert "logged out" in run("logout").output
        assert world.entrance.logins.principal_of(session) is None
        assert run("logout").output == "there is no session to end\n"

    def test_is_possible_when_it_has_ended_there(self, world: World, home: Path) -> None:
        log_in()
        for each in world.entrance.logins.sessions.of(world.ann):
            world.entrance.logins.sessions.end(world.ann, each.id)

        assert run("logout").exit_code == 0


class TestKeptSessions:
    def test_are_of_their_address_until_they_end(self, tmp_path: Path) -> None:
        home = {"XDG_CONFIG_HOME": str(tmp_path)}
        keep("https://one", "a", time.time() + 60, home)
        keep("https://two", "b", time.time() - 1, home)

        assert kept_session("https://one", home) == "a"
        assert kept_session("https://two", home) is None
        assert kept_session("https://three", home) is None
        forget("https://one", home)
        assert kept_session("https://one", home) is None

    def test_of_the_deployment_serve_an_organization_whose_own_has_ended(self, tmp_path: Path) -> None:
        home = {"XDG_CONFIG_HOME": str(tmp_path)}
        keep("https://one", "a", time.time() + 60, home)
        keep("https://one/o/acme", "b", time.time() - 1, home)

        assert kept_session("https://one/o/acme", home) == "a"
        forget("https://one/o/acme", home)
        assert kept_session("https://one", home) is None

    @pytest.mark.parametrize("content", ["", "[]", "{", "\x00"])
    def test_that_are_damaged_are_none(self, tmp_path: Path, content: str) -> None:
        home = {"XDG_CONFIG_HOME": str(tmp_path)}
        file = keep("https://one", "a", time.time() + 60, home)
        file.write_text(content)

        assert kept_session("https://one", home) is None
        keep("https://one", "b", time.time() + 60, home)
        assert json.loads(file.read_text())["https://one"]["session"] == "b"
