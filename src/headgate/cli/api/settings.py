"""`headgate setting`: switches of the access models."""

from typing import Annotated

import typer

from headgate.cli.client import api_path, every, format_revision, send_request
from headgate.cli.output import say, table

Name = Annotated[str, typer.Argument(help="the name")]
On = Annotated[str, typer.Option("--on", help="a resource, by id or name")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    settings = typer.Typer(help="Switches of the access models.", no_args_is_help=True)
    settings.command("list")(list_settings)
    settings.command("set")(change_setting)
    app.add_typer(settings, name="setting")


def list_settings(on: On = "organization") -> None:
    """Show the switches of a resource, and what they can be."""
    rows = ((each["name"], each["value"], ", ".join(each["values"])) for each in every("/settings", resource=on))
    table(("setting", "value", "one of"), list(rows))


def change_setting(name: Name, value: Annotated[str, typer.Argument()], on: On = "organization") -> None:
    """Set a switch of a resource."""
    answer = send_request("PUT", api_path("settings", name), body={"value": value, "resource": on})
    say(f"{name} is {value} ({format_revision(answer)})")
