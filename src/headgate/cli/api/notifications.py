"""`headgate notification`: approvals that wait for the caller, and results that concern the caller."""

from typing import Annotated

import typer

from headgate.cli.client import api_path, every, send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.options import OutputMode
from headgate.cli.output import note, print_items, say, write_json

Notification = Annotated[
    str,
    typer.Argument(metavar="NOTIFICATION", help="the id of the notification; `headgate notification list` shows it"),
]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    notifications = add_command_group(app, "notification", "Notifications: what waits for you, and what concerns you.")
    notifications.command("list", epilog="Example: headgate notification list")(list_notifications)
    notifications.command("dismiss", epilog="Example: headgate notification dismiss request.q_1.requested")(
        dismiss_notification
    )


def list_notifications(*, output: OutputMode = "table") -> None:
    """Show the approvals that wait for you, the decisions on your requests, failed runs, and pipelines without a run-as principal."""
    columns = {"id": "id", "kind": "kind", "about": "about", "state": "state"}
    if not print_items(every("/notifications"), columns, output):
        note("there is no notification for you")


def dismiss_notification(notification: Notification, *, output: OutputMode = "table") -> None:
    """Dismiss a notification: `headgate notification list` no longer shows it."""
    answer = send_request("POST", api_path("notifications", notification, "dismiss"))
    if output == "json":
        write_json(answer, indent=2)
    else:
        say(f"notification {notification} is dismissed")
