"""`headgate role`: the roles that can be assigned."""

from typing import Annotated

import typer

from headgate.cli.client import api_path, every
from headgate.cli.command_groups import add_command_group
from headgate.cli.options import DryRun, OutputMode, Reason
from headgate.cli.output import print_items
from headgate.cli.writes import WriteOptions, write

CustomRole = Annotated[str, typer.Argument(metavar="ROLE", help="the name of the role")]
Permissions = Annotated[list[str], typer.Argument(metavar="PERMISSION...", help="the permissions of the role")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    roles = add_command_group(app, "role", "Roles of the access models and of the organization.")
    roles.command("list", epilog="Example: headgate role list")(list_roles)
    roles.command("set", epilog="Example: headgate role set lead TEAM_EDIT TEAM_ADD")(set_role)
    roles.command("delete", epilog="Example: headgate role delete viewer")(delete_role)


def list_roles(*, output: OutputMode = "table") -> None:
    """Show the roles, and the types of resources that each applies to."""
    print_items(every("/roles"), {"role": "name", "model": "model", "on": lambda each: ", ".join(each["on"])}, output)


def set_role(
    role: CustomRole,
    permissions: Permissions,
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Create a role of the organization, or replace its permissions."""
    path = api_path("roles", role)
    write(WriteOptions(dry_run, reason, output), "PUT", path, f"role {role} is set", body={"permissions": permissions})


def delete_role(
    role: CustomRole, *, dry_run: DryRun = False, reason: Reason = "", output: OutputMode = "table"
) -> None:
    """Delete a role of the organization."""
    path = api_path("roles", role)
    write(WriteOptions(dry_run, reason, output), "DELETE", path, f"role {role} is deleted")
