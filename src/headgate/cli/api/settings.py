"""`headgate setting`: the switches of the access models."""

from typing import Annotated

import typer

from headgate.cli.client import api_path, every, format_revision, send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.output import print_table, say

Resource = Annotated[str, typer.Option(help="the name or id of the resource that has the setting")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    settings = add_command_group(app, "setting", "Settings of resources: the switches of the access models.")
    settings.command("list")(list_settings)
    settings.command("set")(set_setting)


def list_settings(resource: Resource = "organization") -> None:
    """Show the settings of a resource, and the values that each can have."""
    found = every("/settings", resource=resource)
    rows = ((each["name"], each["value"], ", ".join(each["values"])) for each in found)
    print_table(("setting", "value", "possible values"), list(rows))


def set_setting(
    name: Annotated[str, typer.Argument(help="the name of the setting")],
    value: Annotated[str, typer.Argument(help="the new value")],
    resource: Resource = "organization",
) -> None:
    """Change a setting of a resource."""
    answer = send_request("PUT", api_path("settings", name), body={"value": value, "resource": resource})
    say(f"{name} is {value} ({format_revision(answer)})")
