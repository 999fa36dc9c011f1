"""`headgate group`: groups of principals."""

from typing import Annotated

import typer

from headgate.cli.client import api_path, every, format_revision, send_request
from headgate.cli.output import say, table

Name = Annotated[str, typer.Argument(help="the name, or the id")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    groups = typer.Typer(help="Groups that can be granted to.", no_args_is_help=True)
    groups.command("list")(list_groups)
    groups.command("create")(create_group)
    groups.command("delete")(delete_group)
    groups.command("add")(add_member)
    groups.command("remove")(remove_member)
    app.add_typer(groups, name="group")


def list_groups() -> None:
    """Show the groups that you may know of."""
    table(("name", "members"), [(each["name"], each["members"]) for each in every("/groups")])


def create_group(name: Name) -> None:
    """Create an empty group."""
    say(f"group {name} ({format_revision(send_request('POST', '/groups', body={'name': name}))})")


def delete_group(name: Name) -> None:
    """Delete a group, with what was assigned to it."""
    say(f"group {name} is gone ({format_revision(send_request('DELETE', api_path('groups', name)))})")


def add_member(group: Annotated[str, typer.Argument()], name: Name) -> None:
    """Put somebody into a group."""
    say(f"{name} is in {group} ({format_revision(send_request('PUT', api_path('groups', group, 'members', name)))})")


def remove_member(group: Annotated[str, typer.Argument()], name: Name) -> None:
    """Take somebody out of a group."""
    say(
        f"{name} is out of {group} ({format_revision(send_request('DELETE', api_path('groups', group, 'members', name)))})"
    )
