"""`headgate role`: the roles that can be assigned."""

from typing import Annotated

import typer

from headgate.cli.client import api_path, every, format_revision, send_request
from headgate.cli.output import say, table

Name = Annotated[str, typer.Argument(help="the name")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    roles = typer.Typer(help="Roles, also those that the organization defines.", no_args_is_help=True)
    roles.command("list")(list_roles)
    roles.command("define")(define_role)
    roles.command("delete")(delete_role)
    app.add_typer(roles, name="role")


def list_roles() -> None:
    """Show the roles that can be assigned here, and on what."""
    rows = ((each["name"], each["model"], ", ".join(each["on"])) for each in every("/roles"))
    table(("role", "model", "on"), list(rows))


def define_role(name: Name, permissions: Annotated[list[str], typer.Argument(help="what it is made of")]) -> None:
    """Define a role of the organization's own."""
    say(
        f"role {name} ({format_revision(send_request('PUT', api_path('roles', name), body={'permissions': permissions}))})"
    )


def delete_role(name: Name) -> None:
    """Delete a role of the organization's own."""
    say(f"role {name} is gone ({format_revision(send_request('DELETE', api_path('roles', name)))})")
