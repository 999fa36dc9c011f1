"""`headgate auth`: the session of the command line, and the user of it."""

import os
import sys
import time
from contextlib import suppress
from typing import Annotated, Any

import httpx
import typer

from headgate.cli.client import (
    ApiError,
    configured_url,
    describe_credential,
    format_duration,
    problem_of,
    send,
    send_request,
)
from headgate.cli.command_groups import add_command_group
from headgate.cli.options import OutputMode, PasswordStdin
from headgate.cli.output import fail, note, print_table, say, write_json
from headgate.cli.passwords import read_password, require_terminal
from headgate.cli.session_file import forget, kept_session, save_session

_DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
_WAITING = ("authorization_pending", "slow_down")


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    auth = add_command_group(app, "auth", "Log in, log out, and manage your password.")
    auth.command("login", epilog="Example: headgate auth login ann")(login)
    auth.command("logout", epilog="Example: headgate auth logout")(logout)
    auth.command("whoami", epilog="Example: headgate auth whoami")(whoami)
    auth.command("change-password", epilog="Example: headgate auth change-password")(change_password)


def login(
    name: Annotated[
        str | None,
        typer.Argument(help="the login name, to log in with a password; the login is in a browser if left out"),
    ] = None,
    *,
    password: Annotated[
        bool, typer.Option("--password", help="ask for the password at the terminal, not in a browser")
    ] = False,
    password_stdin: PasswordStdin = False,
) -> None:
    """Log in. Later commands use the session until it expires or you log out."""
    if password_stdin and name is None:
        raise ApiError("`--password-stdin` needs a login name: `headgate auth login NAME --password-stdin`")
    if name == "":
        raise ApiError("the login name is empty; pass a login name, or leave it out to log in with a browser")
    try:
        if name or password:
            session, ends = _by_password(name, stdin=password_stdin)
        else:
            session, ends = _by_device()
    except ApiError as error:
        raise ApiError(f"{error}; {describe_credential()}") from None
    say(f"logged in; {use_session(session, ends)}")


def logout() -> None:
    """Log out: end the session that `headgate auth login` began."""
    session = kept_session(configured_url(), os.environ)
    if session is None:
        say(f"there is no session to end; {describe_credential()}")
        return
    answer = _end(session)
    # 401: the server does not know the session any more, so it has ended already.
    if answer.is_error and answer.status_code != httpx.codes.UNAUTHORIZED:
        raise ApiError(problem_of(answer))
    forget(configured_url(), os.environ)
    say(f"logged out; {describe_credential()}")


def whoami(*, output: OutputMode = "table") -> None:
    """Show your name and your assignments."""
    answer = send_request("GET", "/me")
    if output == "json":
        write_json(answer, indent=2)
        return
    acting = f", acts in {answer['acts_in']}" if answer["acts_in"] else ""
    say(f"{answer['name']}{acting} (revision {answer['revision']})")
    print_table(("role", "resource"), [(each["role"], each["resource"]) for each in answer["roles"]])


def change_password(
    *,
    password_stdin: Annotated[
        bool,
        typer.Option(
            "--password-stdin",
            help="read two lines from stdin: the old and the new password; without it the command asks for them",
        ),
    ] = False,
) -> None:
    """Change your password and end your other sessions."""
    # A token has no password: with a token this call fails before the command asks for passwords.
    send_request("GET", "/session")
    old = read_password(stdin=password_stdin, prompt="Old password", is_new=False)
    new = read_password(stdin=password_stdin, prompt="New password")
    if not new:
        fail(
            "the new password is missing; with `--password-stdin` write the old one on the first line and the new one on the second"
        )
        sys.exit(2)
    send("POST", "/password", body={"old": old, "new": new})
    say("your password is changed; your other sessions have ended")


def use_session(session: str, ends: float) -> str:
    """Save a session for later commands and end the session that it replaces; return where it is saved, as a clause."""
    former = kept_session(configured_url(), os.environ)
    kept = f"the session is kept in {save_session(configured_url(), session, ends, os.environ)}"
    if former is not None:
        # If the server does not answer, the former session stays valid until it expires.
        with suppress(httpx.HTTPError):
            _end(former)
    return f"{kept}; unset HEADGATE_TOKEN to use it" if os.environ.get("HEADGATE_TOKEN") else kept


def _end(session: str) -> httpx.Response:
    return httpx.post(f"{configured_url()}/api/v1/logout", headers={"authorization": f"Bearer {session}"})


def _by_password(name: str | None, *, stdin: bool) -> tuple[str, float]:
    """Return the secret of a new session, and when it expires (seconds since the epoch), after a login with a password."""
    if not stdin:
        require_terminal()
    login = name or typer.prompt("Login name")
    secret = read_password(stdin=stdin, is_new=False)
    answer = _post("/api/v1/login", json={"login": login, "password": secret})
    return str(answer["session"]), float(answer["ends"])


def _by_device() -> tuple[str, float]:
    """Return the secret of a new session, and when it expires (seconds since the epoch).

    This is the device flow (RFC 8628): the user confirms a code in a browser.
    """
    asked = _post("/oauth2/device_authorization", data={"client_id": "headgate"})
    say(f"open {asked['verification_uri_complete']} in a browser and confirm the code {asked['user_code']}")
    longest = format_duration(int(asked["expires_in"]))
    note(f"the command waits up to {longest} for your confirmation; press Ctrl+C to stop waiting")
    interval = float(asked["interval"])
    while True:
        time.sleep(interval)
        answer = httpx.post(
            f"{configured_url()}/oauth2/token", data={"grant_type": _DEVICE, "device_code": asked["device_code"]}
        )
        if answer.is_success:
            granted = answer.json()
            return str(granted["access_token"]), time.time() + float(granted["expires_in"])
        body = _json(answer)
        if body.get("error") not in _WAITING:
            raise ApiError(str(body.get("error_description", problem_of(answer))))
        if body["error"] == "slow_down":
            interval += 5.0  # RFC 8628, section 3.5


def _post(path: str, **more: Any) -> dict[str, Any]:
    answer = httpx.post(f"{configured_url()}{path}", **more)
    if answer.is_error:
        raise ApiError(str(_json(answer).get("error_description") or problem_of(answer)))
    return _json(answer)


def _json(answer: httpx.Response) -> dict[str, Any]:
    try:
        found = answer.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
