"""`headgate user`: the users of the organization."""

from typing import Annotated

import typer

from headgate.cli.client import api_path, every, format_revision, given_fields, send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.output import print_table, say

Name = Annotated[str, typer.Argument(help="the name or id of the user")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    users = add_command_group(app, "user", "Users of an organization (logins: `deployment-user`).")
    users.command("list")(list_users)
    users.command("create")(create_user)
    users.command("delete")(delete_user)


def list_users() -> None:
    """Show the users of the organization that you may see."""
    print_table(("name", "roles"), [(each["name"], ", ".join(each["roles"])) for each in every("/users")])


def create_user(
    name: Annotated[str, typer.Argument(help="the name of the new user")],
    role: Annotated[str, typer.Option(help="the role of the user on the organization or the resource")] = "member",
    resource: Annotated[
        str | None, typer.Option(help="the resource that the user belongs to; the organization if left out")
    ] = None,
) -> None:
    """Create a user. A user that the deployment has already joins by an invitation (`headgate invitation create`)."""
    fields = {"name": name, "role": role, "place": resource}
    answer = send_request("POST", "/users", body=given_fields(fields))
    say(f"{name} is in the organization as {role} ({format_revision(answer)})")


def delete_user(name: Name) -> None:
    """Delete a user from the organization. The memberships, assignments and tokens of the user are deleted too."""
    say(f"{name} is deleted ({format_revision(send_request('DELETE', api_path('users', name)))})")
