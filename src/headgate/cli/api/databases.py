"""The lake and its databases."""

from typing import Annotated

import typer

from headgate.cli.client import every, send_request
from headgate.cli.output import say, table


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("ls")(list_resources)
    databases = typer.Typer(help="Databases of the lake.", no_args_is_help=True)
    databases.command("create")(create_database)
    app.add_typer(databases, name="database")


def list_resources() -> None:
    """Show everything that you may see."""
    table(("name", "type"), [(each["name"], each["type"]) for each in every("/resources")])


def create_database(name: Annotated[str, typer.Argument()]) -> None:
    """Create a database in the lake."""
    answer = send_request("POST", "/databases", body={"name": name})
    say(f"{answer['name']} (revision {answer['revision']})")
