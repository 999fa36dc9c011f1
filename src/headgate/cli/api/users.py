"""`headgate user`: the users of the organization."""

from typing import Annotated

import typer

from headgate.cli.client import api_path, every, given_fields, send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.completion import complete_user
from headgate.cli.options import DryRun, FirstRole, HomeResource, NewName, OutputMode, Reason
from headgate.cli.output import print_item, print_items
from headgate.cli.principal_lines import lines_of_principal
from headgate.cli.writes import WriteOptions, write

User = Annotated[str, typer.Argument(metavar="USER", autocompletion=complete_user, help="the user, by name or id")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    users = add_command_group(app, "user", "Users of an organization (logins: `deployment-user`).")
    users.command("list", epilog="Example: headgate user list")(list_users)
    users.command("create", epilog="Example: headgate user create ann --role member")(create_user)
    users.command("show", epilog="Example: headgate user show ann")(show_user)
    users.command("delete", epilog="Example: headgate user delete ann")(delete_user)


def list_users(*, output: OutputMode = "table") -> None:
    """Show the users of the organization that you may see."""
    print_items(every("/users"), {"name": "name", "roles": lambda each: ", ".join(each["roles"])}, output)


def create_user(
    name: NewName,
    role: FirstRole = None,
    resource: HomeResource = None,
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Create a user. A user that the deployment has already joins by an invitation (`headgate invitation create`)."""
    path = "/users"
    write(
        WriteOptions(dry_run, reason, output),
        "POST",
        path,
        f"{name} is in the organization{f' as {role}' if role else ''}",
        body=given_fields({"name": name, "role": role, "place": resource}),
    )


def show_user(user: User, *, output: OutputMode = "table") -> None:
    """Show a user with the groups of the user and the roles that the user holds."""
    found = send_request("GET", api_path("users", user))
    print_item(found, lines_of_principal(found), output)


def delete_user(user: User, *, dry_run: DryRun = False, reason: Reason = "", output: OutputMode = "table") -> None:
    """Delete a user from the organization. The memberships, assignments and tokens of the user are deleted too."""
    path = api_path("users", user)
    write(WriteOptions(dry_run, reason, output), "DELETE", path, f"{user} is deleted")
