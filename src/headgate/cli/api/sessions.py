"""`headgate session`: the sessions of the logged-in user."""

import os
from typing import Annotated, Any

import typer

from headgate.cli.client import api_path, configured_url, describe_credential, require_token, send_delete, send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.options import OutputMode
from headgate.cli.output import format_time, print_items, say
from headgate.cli.session_file import forget, kept_session


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    sessions = add_command_group(app, "session", "Your login sessions.")
    sessions.command("list", epilog="Example: headgate session list")(list_sessions)
    sessions.command("delete", epilog="Example: headgate session delete s_1")(delete_session)


def list_sessions(*, output: OutputMode = "table") -> None:
    """Show your sessions, newest first."""
    columns: dict[str, Any] = {
        "id": "id",
        "began": lambda each: format_time(each["at"]),
        "expires": lambda each: format_time(each["ends"]),
        "login by": "how",
        "address": "address",
        "agent": "agent",
        "current": lambda each: "yes" if each["current"] else "",
    }
    print_items(send_request("GET", "/sessions"), columns, output)


def delete_session(
    id: Annotated[
        str, typer.Argument(metavar="SESSION", help="the id of the session, which `headgate session list` shows")
    ],
) -> None:
    """Delete one of your sessions, on this or another machine. It ends at once."""
    is_current = send_request("GET", "/session")["id"] == id
    secret = require_token()
    send_delete(api_path("sessions", id))
    if is_current and kept_session(configured_url(), os.environ) == secret:
        forget(configured_url(), os.environ)
    say(f"the session has ended{f'; {describe_credential()}' if is_current else ''}")
