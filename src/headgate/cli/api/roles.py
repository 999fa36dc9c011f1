"""`headgate role`: the roles that can be assigned."""

from typing import Annotated

import typer

from headgate.cli.client import api_path, every, format_revision, send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.output import print_table, say

Name = Annotated[str, typer.Argument(help="the name of the role")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    roles = add_command_group(app, "role", "Roles of the access models and of the organization.")
    roles.command("list")(list_roles)
    roles.command("set")(set_role)
    roles.command("delete")(delete_role)


def list_roles() -> None:
    """Show the roles, and the types of resources that each applies to."""
    rows = ((each["name"], each["model"], ", ".join(each["on"])) for each in every("/roles"))
    print_table(("role", "model", "on"), list(rows))


def set_role(name: Name, permissions: Annotated[list[str], typer.Argument(help="the permissions of the role")]) -> None:
    """Create a role of the organization, or replace its permissions."""
    answer = send_request("PUT", api_path("roles", name), body={"permissions": permissions})
    say(f"role {name} ({format_revision(answer)})")


def delete_role(name: Name) -> None:
    """Delete a role of the organization."""
    say(f"role {name} is deleted ({format_revision(send_request('DELETE', api_path('roles', name)))})")
