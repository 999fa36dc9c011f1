"""`headgate user`: the users of the organization."""

from typing import Annotated

import typer

from headgate.cli.client import api_path, every, format_revision, given_fields, send_request
from headgate.cli.output import say, table

Name = Annotated[str, typer.Argument(help="the name, or the id")]
Place = Annotated[str | None, typer.Option(help="where it belongs, if not to the organization")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    users = typer.Typer(help="Users of the organization.", no_args_is_help=True)
    users.command("list")(list_users)
    users.command("add")(add_user)
    users.command("remove")(remove_user)
    app.add_typer(users, name="user")


def list_users() -> None:
    """Show who is in the organization, as far as you may know."""
    table(("name", "roles"), [(each["name"], ", ".join(each["roles"])) for each in every("/users")])


def add_user(
    name: Name,
    role: Annotated[str, typer.Option(help="a role on the organization, or on the place")] = "member",
    place: Place = None,
) -> None:
    """Add a new user. A user that the deployment has already joins by `headgate invitation`."""
    said = {"name": name, "role": role, "place": place}
    say(
        f"{name} is in the organization as {role} ({format_revision(send_request('POST', '/users', body=given_fields(said)))})"
    )


def remove_user(name: Name) -> None:
    """Have somebody leave: memberships, assignments and tokens end."""
    say(f"{name} is gone ({format_revision(send_request('DELETE', api_path('users', name)))})")
