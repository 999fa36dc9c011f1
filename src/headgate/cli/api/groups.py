"""`headgate group`: groups of principals."""

from typing import Annotated

import typer

from headgate.cli.client import api_path, every, format_revision, send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.output import print_table, say

Group = Annotated[str, typer.Argument(help="the name or id of the group")]
Member = Annotated[str, typer.Argument(metavar="NAME", help="the name or id of the member")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    groups = add_command_group(app, "group", "Groups of principals, which can hold roles.")
    groups.command("list")(list_groups)
    groups.command("create")(create_group)
    groups.command("delete")(delete_group)
    groups.command("add-member")(add_member)
    groups.command("remove-member")(remove_member)


def list_groups() -> None:
    """Show the groups that you may see."""
    print_table(("name", "members"), [(each["name"], each["members"]) for each in every("/groups")])


def create_group(name: Annotated[str, typer.Argument(help="the name of the new group")]) -> None:
    """Create an empty group."""
    say(f"group {name} ({format_revision(send_request('POST', '/groups', body={'name': name}))})")


def delete_group(group: Group) -> None:
    """Delete a group and its assignments."""
    say(f"group {group} is deleted ({format_revision(send_request('DELETE', api_path('groups', group)))})")


def add_member(group: Group, member: Member) -> None:
    """Add a principal to a group."""
    answer = send_request("PUT", api_path("groups", group, "members", member))
    say(f"{member} is in {group} ({format_revision(answer)})")


def remove_member(group: Group, member: Member) -> None:
    """Remove a principal from a group."""
    answer = send_request("DELETE", api_path("groups", group, "members", member))
    say(f"{member} is no longer in {group} ({format_revision(answer)})")
