"""`headgate group`: groups of principals."""

from typing import Annotated

import typer

from headgate.cli.client import api_path, every, send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.completion import complete_group
from headgate.cli.options import DryRun, MemberName, NewName, OutputMode, Reason
from headgate.cli.output import print_item, print_items
from headgate.cli.writes import WriteOptions, write

Group = Annotated[str, typer.Argument(metavar="GROUP", autocompletion=complete_group, help="the group, by name or id")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    groups = add_command_group(app, "group", "Groups of principals, which can hold roles.")
    groups.command("list", epilog="Example: headgate group list")(list_groups)
    groups.command("create", epilog="Example: headgate group create analysts")(create_group)
    groups.command("show", epilog="Example: headgate group show analysts")(show_group)
    groups.command("rename", epilog="Example: headgate group rename analysts readers")(rename_group)
    groups.command("delete", epilog="Example: headgate group delete analysts")(delete_group)
    groups.command("list-members", epilog="Example: headgate group list-members analysts")(list_members)
    groups.command("add-member", epilog="Example: headgate group add-member analysts ann")(add_member)
    groups.command("remove-member", epilog="Example: headgate group remove-member analysts ann")(remove_member)


def list_groups(*, output: OutputMode = "table") -> None:
    """Show the groups that you may see."""
    print_items(every("/groups"), {"name": "name", "members": "members"}, output)


def create_group(name: NewName, *, dry_run: DryRun = False, reason: Reason = "", output: OutputMode = "table") -> None:
    """Create an empty group."""
    path = "/groups"
    write(WriteOptions(dry_run, reason, output), "POST", path, f"group {name} is created", body={"name": name})


def show_group(group: Group, *, output: OutputMode = "table") -> None:
    """Show a group with the roles that it holds."""
    found = send_request("GET", api_path("groups", group))
    roles = ", ".join(f"{each['role']} on {each['resource']}" for each in found["held"])
    print_item(found, {"id": found["id"], "name": found["name"], "members": found["members"], "roles": roles}, output)


def rename_group(
    group: Group, name: NewName, *, dry_run: DryRun = False, reason: Reason = "", output: OutputMode = "table"
) -> None:
    """Rename a group."""
    path = api_path("groups", group)
    write(WriteOptions(dry_run, reason, output), "PATCH", path, f"group {group} is now {name}", body={"name": name})


def delete_group(group: Group, *, dry_run: DryRun = False, reason: Reason = "", output: OutputMode = "table") -> None:
    """Delete a group and its assignments."""
    path = api_path("groups", group)
    write(WriteOptions(dry_run, reason, output), "DELETE", path, f"group {group} is deleted")


def list_members(group: Group, *, output: OutputMode = "table") -> None:
    """Show the members of a group."""
    print_items(every(api_path("groups", group, "members")), {"name": "name", "kind": "kind"}, output)


def add_member(
    group: Group, member: MemberName, *, dry_run: DryRun = False, reason: Reason = "", output: OutputMode = "table"
) -> None:
    """Add a principal to a group."""
    path = api_path("groups", group, "members", member)
    write(WriteOptions(dry_run, reason, output), "PUT", path, f"{member} is in {group}")


def remove_member(
    group: Group, member: MemberName, *, dry_run: DryRun = False, reason: Reason = "", output: OutputMode = "table"
) -> None:
    """Remove a principal from a group."""
    path = api_path("groups", group, "members", member)
    write(WriteOptions(dry_run, reason, output), "DELETE", path, f"{member} is no longer in {group}")
