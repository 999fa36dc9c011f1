"""`headgate password` and `headgate sessions`: the password and the sessions of the user that is logged in."""

import os
import sys
from typing import Annotated

import typer

from headgate.cli.client import api_path, base, describe_credential, end, send, send_request, token
from headgate.cli.output import fail, say, table, when
from headgate.cli.passwords import read_password
from headgate.cli.session_file import forget, kept_session


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("password")(change_password)
    sessions = typer.Typer(help="The sessions in which you are logged in.", no_args_is_help=True)
    sessions.command("list")(list_sessions)
    sessions.command("end")(end_session)
    app.add_typer(sessions, name="sessions")


def change_password(
    *,
    password_stdin: Annotated[
        bool,
        typer.Option(
            "--password-stdin", help="read two lines from stdin, the old and the new password; else they are asked for"
        ),
    ] = False,
) -> None:
    """Change your password, and end your other sessions."""
    # A token has no password: that is said before the passwords are asked for.
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


def list_sessions() -> None:
    """Show your sessions, newest first."""
    rows = [
        (
            each["id"],
            when(each["at"]),
            when(each["ends"]),
            each["how"],
            each["address"],
            each["agent"],
            "yes" if each["current"] else "",
        )
        for each in send_request("GET", "/sessions")
    ]
    table(("id", "began", "ends", "how", "address", "agent", "this one"), rows)


def end_session(id: Annotated[str, typer.Argument(help="the id of the session, as `list` shows it")]) -> None:
    """End one of your sessions, on whichever machine it is used."""
    is_current = send_request("GET", "/session")["id"] == id
    secret = token()
    end(api_path("sessions", id))
    if is_current and kept_session(base(), os.environ) == secret:
        forget(base(), os.environ)
    say(f"the session has ended{f'; {describe_credential()}' if is_current else ''}")
