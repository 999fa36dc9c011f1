"""`headgate resource`: the resources that the caller may see."""

import typer

from headgate.cli.client import every
from headgate.cli.command_groups import add_command_group
from headgate.cli.output import print_table


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    resources = add_command_group(app, "resource", "Resources: everything that access is decided on.")
    resources.command("list")(list_resources)


def list_resources() -> None:
    """Show the resources that you may see."""
    print_table(("name", "type"), [(each["name"], each["type"]) for each in every("/resources")])
