"""`headgate database`: the databases of the lake."""

from typing import Annotated

import typer

from headgate.cli.client import every, format_revision, send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.output import note, print_table, say


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    databases = add_command_group(app, "database", "Databases of the lake.")
    databases.command("list")(list_databases)
    databases.command("create")(create_database)


def list_databases() -> None:
    """Show the databases that you may see."""
    rows = [(each["name"],) for each in every("/databases")]
    print_table(("name",), rows)
    if not rows:
        note("there is no database that you may see; `headgate resource list` shows every resource that you may see")


def create_database(name: Annotated[str, typer.Argument(help="the name of the new database")]) -> None:
    """Create a database in the lake."""
    answer = send_request("POST", "/databases", body={"name": name})
    say(f"{answer['name']} ({format_revision(answer)})")
