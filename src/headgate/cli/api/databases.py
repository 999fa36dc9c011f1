"""`headgate database`: the databases of the lake."""

from typing import Annotated

import typer

from headgate.cli.client import send_request
from headgate.cli.output import say


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    databases = typer.Typer(help="Databases of the lake.", no_args_is_help=True)
    databases.command("create")(create_database)
    app.add_typer(databases, name="database")


def create_database(name: Annotated[str, typer.Argument()]) -> None:
    """Create a database in the lake."""
    answer = send_request("POST", "/databases", body={"name": name})
    say(f"{answer['name']} (revision {answer['revision']})")
