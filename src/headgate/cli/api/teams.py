"""`headgate team`: the teams and domains of the ownership tree."""

from itertools import chain
from typing import Annotated

import typer

from headgate.cli.client import api_path, every, send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.completion import complete_team
from headgate.cli.options import DryRun, MemberName, NewName, OutputMode, Reason
from headgate.cli.output import format_time, print_item, print_items
from headgate.cli.writes import WriteOptions, write

Team = Annotated[
    str, typer.Argument(metavar="TEAM", autocompletion=complete_team, help="the team or domain, by name or id")
]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    teams = add_command_group(app, "team", "Teams and domains of the ownership tree, and members.")
    teams.command("list", epilog="Example: headgate team list")(list_teams)
    teams.command("create", epilog="Example: headgate team create shop --parent sales")(create_team)
    teams.command("show", epilog="Example: headgate team show sales")(show_team)
    teams.command("rename", epilog="Example: headgate team rename sales retail")(rename_team)
    teams.command("move", epilog="Example: headgate team move sales.shop retail")(move_team)
    teams.command("delete", epilog="Example: headgate team delete sales")(delete_team)
    teams.command("list-members", epilog="Example: headgate team list-members sales")(list_members)
    teams.command("add-member", epilog="Example: headgate team add-member sales ann --role editor")(add_member)
    teams.command("remove-member", epilog="Example: headgate team remove-member sales ann")(remove_member)


def list_teams(*, output: OutputMode = "table") -> None:
    """Show the teams and domains that you may see."""
    found = sorted(chain(every("/domains"), every("/teams")), key=lambda each: (each["name"], each["type"]))
    print_items(found, {"name": "name", "type": "type"}, output)


def create_team(
    name: NewName,
    parent: Annotated[
        str, typer.Option("--parent", metavar="RESOURCE", help="the team or domain above the new one")
    ] = "organization",
    *,
    domain: Annotated[
        bool, typer.Option("--domain", help="create a domain, which contains teams, in place of a team")
    ] = False,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Create a team or a domain."""
    kind, path = ("domain", "/domains") if domain else ("team", "/teams")
    write(
        WriteOptions(dry_run, reason, output),
        "POST",
        path,
        lambda made: f"{kind} {made['name']} is created (revision {made['revision']})",
        body={"name": name, "parent": parent},
    )


def show_team(team: Team, *, output: OutputMode = "table") -> None:
    """Show a team or domain with its members."""
    found = send_request("GET", api_path("teams", team))
    members = list(every(api_path("teams", team, "members")))
    named = ", ".join(f"{each['name']} ({each['role']})" for each in members)
    shown = {**{key: found[key] for key in ("id", "name", "type", "parent")}, "members": named}
    print_item({**found, "members": members}, shown, output)


def rename_team(
    team: Team, name: NewName, *, dry_run: DryRun = False, reason: Reason = "", output: OutputMode = "table"
) -> None:
    """Rename a team or domain."""
    path = api_path("teams", team)
    write(WriteOptions(dry_run, reason, output), "PATCH", path, f"{team} is now {name}", body={"name": name})


def move_team(
    team: Team,
    parent: Annotated[str, typer.Argument(metavar="PARENT", help="the new team or domain above")],
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Move a team or domain below another one."""
    path = api_path("teams", team)
    write(
        WriteOptions(dry_run, reason, output), "PATCH", path, f"{team} is now below {parent}", body={"parent": parent}
    )


def delete_team(team: Team, *, dry_run: DryRun = False, reason: Reason = "", output: OutputMode = "table") -> None:
    """Delete a team or domain."""
    path = api_path("teams", team)
    write(WriteOptions(dry_run, reason, output), "DELETE", path, f"{team} is deleted")


def list_members(team: Team, *, output: OutputMode = "table") -> None:
    """Show the members of a team or domain."""
    print_items(
        every(api_path("teams", team, "members")),
        {"name": "name", "role": "role", "expires": lambda each: format_time(each["ends"])},
        output,
    )


def add_member(
    team: Team,
    member: MemberName,
    role: Annotated[str, typer.Option("--role", metavar="ROLE", help="the role of the member in the team")],
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Add a member to a team, or change the role of a member."""
    path = api_path("teams", team, "members", member)
    write(WriteOptions(dry_run, reason, output), "PUT", path, f"{member} is {role} of {team}", body={"role": role})


def remove_member(
    team: Team, member: MemberName, *, dry_run: DryRun = False, reason: Reason = "", output: OutputMode = "table"
) -> None:
    """Remove a member from a team."""
    path = api_path("teams", team, "members", member)
    write(WriteOptions(dry_run, reason, output), "DELETE", path, f"{member} is no longer in {team}")
