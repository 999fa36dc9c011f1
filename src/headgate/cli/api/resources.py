"""`headgate ls`: the resources that the caller may see."""

import typer

from headgate.cli.client import every
from headgate.cli.output import table


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("ls")(list_resources)


def list_resources() -> None:
    """Show everything that you may see."""
    table(("name", "type"), [(each["name"], each["type"]) for each in every("/resources")])
