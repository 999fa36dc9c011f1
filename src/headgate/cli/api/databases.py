"""`headgate database`: the databases of the lake."""

import typer

from headgate.cli.client import every
from headgate.cli.command_groups import add_command_group
from headgate.cli.options import DryRun, NewName, OutputMode, Reason
from headgate.cli.output import note, print_items
from headgate.cli.writes import WriteOptions, write


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    databases = add_command_group(app, "database", "Databases of the lake.")
    databases.command("list", epilog="Example: headgate database list")(list_databases)
    databases.command("create", epilog="Example: headgate database create raw")(create_database)


def list_databases(*, output: OutputMode = "table") -> None:
    """Show the databases that you may see."""
    if not print_items(every("/databases"), {"name": "name"}, output):
        note("there is no database that you may see; `headgate resource list` shows every resource that you may see")


def create_database(
    name: NewName, *, dry_run: DryRun = False, reason: Reason = "", output: OutputMode = "table"
) -> None:
    """Create a database in the lake."""
    write(
        WriteOptions(dry_run, reason, output),
        "POST",
        "/databases",
        lambda made: f"database {made['name']} is created (revision {made['revision']})",
        body={"name": name},
    )
