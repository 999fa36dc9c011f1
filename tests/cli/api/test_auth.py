"""`headgate auth login`, `logout` and `whoami`, against the endpoints of logins."""

import json
import re
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner, Result

from headgate.cli import passwords
from headgate.cli.api import auth
from headgate.cli.client import ApiError, send_request
from headgate.cli.every_command import app
from headgate.cli.session_file import forget, kept_session, save_session
from headgate.control.authentication.sessions import Session
from headgate.control.authentication.settings import AttemptLimit
from tests.cli.logins import serve_logins, use_deployment
from tests.control.authentication.auth_services_harness import HOME, PASSWORD
from tests.endpoints.auth.auth_harness import AuthHarness
from tests.threads import served


@pytest.fixture(scope="module")
def world() -> Iterator[AuthHarness]:
    with serve_logins() as served:
        yield served


@pytest.fixture
def home(world: AuthHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, on a machine that is not the deployment's."""
    use_deployment(monkeypatch, world.url, tmp_path)
    return tmp_path


def run(*words: str, stdin: str = "", url: str | None = None) -> Result:
    return CliRunner().invoke(app, list(words), input=stdin, env={"HEADGATE_URL": url} if url else {})


def log_in(password: str = PASSWORD) -> Result:
    return run("auth", "login", "ann", "--password-stdin", stdin=f"{password}\n")


def owner_token(home: Path) -> Path:
    """Return the file of an owner's token in the data folder of this machine."""
    token = home / ".headgate" / "owner.token"
    token.parent.mkdir()
    token.write_text("hgt.owner.token")
    return token


class TestLoggingIn:
    def test_later_commands_use_the_session_of_the_login(self, world: AuthHarness, home: Path) -> None:
        with pytest.raises(ApiError, match="headgate auth login"):
            send_request("GET", "/me")
        assert log_in().exit_code == 0

        assert send_request("GET", "/me")["principal"] == world.ann

    def test_a_login_stores_the_session_in_a_private_file(self, home: Path) -> None:
        log_in()

        file = home / "headgate" / "sessions.json"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        assert PASSWORD not in file.read_text()

    @pytest.mark.parametrize(("words", "typed"), [(("--password",), f"ann\n{PASSWORD}\n"), (("ann",), f"{PASSWORD}\n")])
    def test_a_login_at_a_terminal_asks_for_missing_name_and_password(
        self, home: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], typed: str
    ) -> None:
        monkeypatch.setattr(passwords, "has_terminal", lambda: True)

        result = run("auth", "login", *words, stdin=typed)

        assert result.exit_code == 0, result.output
        assert PASSWORD not in result.output

    @pytest.mark.parametrize("words", [("ann",), ("ann", "--password"), ("--password",)])
    def test_a_password_login_without_a_terminal_names_the_option(self, home: Path, words: tuple[str, ...]) -> None:
        result = run("auth", "login", *words)

        assert result.exit_code == 2
        assert result.stderr == "headgate: there is no terminal to ask for the password; use `--password-stdin`\n"

    def test_a_login_with_a_password_from_the_standard_input_requires_a_name(self, home: Path) -> None:
        result = run("auth", "login", "--password-stdin", stdin=f"{PASSWORD}\n")

        assert "`--password-stdin` needs a login name" in str(result.exception)

    def test_a_login_with_a_wrong_password_is_refused_and_stores_no_session(
        self, world: AuthHarness, home: Path
    ) -> None:
        result = log_in("a wrong password")

        assert isinstance(result.exception, ApiError)
        assert "the login name or the password is wrong" in str(result.exception)
        assert kept_session(world.url, {"XDG_CONFIG_HOME": str(home)}) is None

    def test_a_failed_login_names_the_credential_that_commands_use(self, home: Path) -> None:
        assert str(log_in("a wrong password").exception).endswith(
            "; you are not logged in, and HEADGATE_TOKEN is not set"
        )

        token = owner_token(home)

        assert str(log_in("a wrong password").exception).endswith(f"; commands now use the owner's token in `{token}`")

    def test_a_login_with_an_empty_name_is_refused(self, home: Path) -> None:
        assert "the login name is empty" in str(run("auth", "login", "", "--password-stdin", stdin="x\n").exception)

    def test_a_login_after_too_many_attempts_reports_the_time_to_wait(self, home: Path) -> None:
        world = AuthHarness(tries_of_name=AttemptLimit(1, 900.0))
        with served(world.app) as url:
            first, second = (run("auth", "login", "ann", "--password-stdin", stdin="x", url=url) for _ in range(2))
        world.audit.close()

        assert "the login name or the password is wrong" in str(first.exception)
        assert "there were too many requests or attempts to log in; retry in 15 minutes" in str(second.exception)

    def test_a_login_ends_the_session_that_it_replaces(self, world: AuthHarness, home: Path) -> None:
        log_in()
        former = kept_session(world.url, {"XDG_CONFIG_HOME": str(home)})
        assert former is not None

        assert log_in().exit_code == 0

        assert world.auth_services.authentication.principal_of(former) is None
        assert send_request("GET", "/me")["principal"] == world.ann

    def test_a_login_succeeds_if_the_former_session_cannot_be_ended(
        self, world: AuthHarness, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        log_in()

        def post(url: str, **more: Any) -> httpx.Response:
            if url.endswith("/logout"):
                raise httpx.ConnectError("refused")
            return httpx.request("POST", url, **more)

        monkeypatch.setattr(auth.httpx, "post", post)

        assert log_in().exit_code == 0
        assert send_request("GET", "/me")["principal"] == world.ann

    def test_a_login_reports_that_a_token_in_the_environment_takes_precedence(
        self, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HEADGATE_TOKEN", "hgt.some.token")

        assert log_in().output.endswith("; unset HEADGATE_TOKEN to use it\n")

    def test_a_session_is_used_for_every_spelling_and_organization_of_its_deployment(
        self, world: AuthHarness, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        log_in()
        monkeypatch.setenv("HEADGATE_URL", f"{world.url.replace('127.0.0.1', 'localhost')}/o/acme")

        assert send_request("GET", "/me")["principal"] == world.ann

    def test_a_browser_login_waits_until_a_user_approves_it(self, world: AuthHarness, home: Path) -> None:
        answering = threading.Thread(target=_answer, args=(world,), kwargs={"allow": True})
        answering.start()
        result = run("auth", "login")
        answering.join()

        assert result.exit_code == 0, result.output
        assert re.search(
            rf"open {world.url}/oauth2/device\?user_code=\S+ in a browser and confirm the code \S{{4}}-\S{{4}}",
            result.output,
        )
        assert send_request("GET", "/me")["principal"] == world.ann

    def test_a_browser_login_fails_if_a_user_denies_it(self, world: AuthHarness, home: Path) -> None:
        answering = threading.Thread(target=_answer, args=(world,), kwargs={"allow": False})
        answering.start()
        result = run("auth", "login")
        answering.join()

        assert "the user denied the device" in str(result.exception)


def _answer(world: AuthHarness, *, allow: bool) -> None:
    """Enter the code that a device shows, somewhere else."""
    store = world.organizations.deployment.store
    while not (codes := store.documents("device")):
        time.sleep(0.01)
    world.auth_services.devices.answer(next(iter(codes)), _session(world), world.now, allow=allow)


def _session(world: AuthHarness) -> Session:
    return world.auth_services.authentication.log_in("ann", PASSWORD, HOME).session


class TestLoggingOut:
    def test_a_logout_ends_the_session_on_the_server_and_deletes_it_here(self, world: AuthHarness, home: Path) -> None:
        log_in()
        session = kept_session(world.url, {"XDG_CONFIG_HOME": str(home)})
        assert session is not None

        assert "logged out" in run("auth", "logout").output
        assert world.auth_services.authentication.principal_of(session) is None
        assert (
            run("auth", "logout").output
            == "there is no session to end; you are not logged in, and HEADGATE_TOKEN is not set\n"
        )

    @pytest.mark.parametrize(
        "address", ["http://192.0.2.1:1", "https://headgate.example", "http://localhost.example:1"]
    )
    def test_the_owners_token_is_sent_to_this_machine_only(
        self, home: Path, monkeypatch: pytest.MonkeyPatch, address: str
    ) -> None:
        owner_token(home)
        monkeypatch.setenv("HEADGATE_URL", address)

        said = run("auth", "whoami")

        assert said.exit_code == 1
        assert "is sent only to a server on this machine" in str(said.exception)

    def test_a_logout_names_the_credential_that_commands_use(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        token = owner_token(home)
        log_in()
        assert run("auth", "logout").output == f"logged out; commands now use the owner's token in `{token}`\n"

        log_in()
        token.unlink()
        assert run("auth", "logout").output == "logged out; you are not logged in, and HEADGATE_TOKEN is not set\n"

        monkeypatch.setenv("HEADGATE_TOKEN", "hgt.some.token")
        assert (
            run("auth", "logout").output == "there is no session to end; commands now use the token in HEADGATE_TOKEN\n"
        )

    def test_a_logout_succeeds_if_the_session_has_ended_on_the_server(self, world: AuthHarness, home: Path) -> None:
        log_in()
        for each in world.auth_services.authentication.sessions.of(world.ann):
            world.auth_services.authentication.sessions.end(world.ann, each.id)

        assert run("auth", "logout").exit_code == 0


class TestKeptSessions:
    def test_a_stored_session_is_found_by_its_address_until_it_ends(self, tmp_path: Path) -> None:
        home = {"XDG_CONFIG_HOME": str(tmp_path)}
        save_session("https://one", "a", time.time() + 60, home)
        save_session("https://two", "b", time.time() - 1, home)

        assert kept_session("https://one", home) == "a"
        assert kept_session("https://two", home) is None
        assert kept_session("https://three", home) is None
        forget("https://one", home)
        assert kept_session("https://one", home) is None

    @pytest.mark.parametrize(
        ("address", "same"),
        [
            ("http://127.0.0.1:28020", "http://localhost:28020/o/acme"),
            ("http://localhost:28020/o/acme", "http://[::1]:28020"),
            ("http://[::1]:28020", "http://127.0.0.1:28020"),
            ("https://one.example/lake/o/acme", "https://ONE.example:443/lake"),
        ],
    )
    def test_a_deployment_has_one_stored_session_for_every_spelling_and_organization(
        self, tmp_path: Path, address: str, same: str
    ) -> None:
        home = {"XDG_CONFIG_HOME": str(tmp_path)}
        file = save_session(address, "a", time.time() + 60, home)

        assert kept_session(same, home) == "a"
        save_session(same, "b", time.time() + 60, home)
        assert len(json.loads(file.read_text())) == 1
        forget(address, home)
        assert kept_session(same, home) is None

    @pytest.mark.parametrize("other", ["https://localhost:28020", "http://localhost:28021", "http://127.0.0.2:28020"])
    def test_a_stored_session_is_not_used_for_another_scheme_port_or_host(self, tmp_path: Path, other: str) -> None:
        home = {"XDG_CONFIG_HOME": str(tmp_path)}
        save_session("http://localhost:28020", "a", time.time() + 60, home)

        assert kept_session(other, home) is None

    def test_a_session_that_an_earlier_version_stored_for_an_organization_is_found(self, tmp_path: Path) -> None:
        home = {"XDG_CONFIG_HOME": str(tmp_path)}
        file = save_session("https://one", "a", time.time() + 60, home)
        kept = {"https://one/o/acme": {"session": "b", "ends": time.time() + 90}}
        file.write_text(json.dumps({**json.loads(file.read_text()), **kept}))

        assert kept_session("https://one", home) == "b"

    @pytest.mark.parametrize("content", ["", "[]", "{", "\x00"])
    def test_a_damaged_session_file_contains_no_session(self, tmp_path: Path, content: str) -> None:
        home = {"XDG_CONFIG_HOME": str(tmp_path)}
        file = save_session("https://one", "a", time.time() + 60, home)
        file.write_text(content)

        assert kept_session("https://one", home) is None
        save_session("https://one", "b", time.time() + 60, home)
        assert json.loads(file.read_text())["https://one"]["session"] == "b"
