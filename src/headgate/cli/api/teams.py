"""`headgate team`: the teams and domains of the ownership tree."""

from typing import Annotated

import typer

from headgate.cli.client import api_path, every, format_revision, send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.output import print_table, say

Team = Annotated[str, typer.Argument(help="the name or id of the team")]
Member = Annotated[str, typer.Argument(metavar="NAME", help="the name or id of the member")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    teams = add_command_group(app, "team", "Teams and domains of the ownership tree, and members.")
    teams.command("list")(list_teams)
    teams.command("create")(create_team)
    teams.command("add-member")(add_member)
    teams.command("remove-member")(remove_member)


def list_teams() -> None:
    """Show the teams and domains that you may see."""
    rows = ((each["name"], each["type"]) for noun in ("domains", "teams") for each in every(f"/{noun}"))
    print_table(("name", "type"), sorted(rows))


def create_team(
    name: Annotated[str, typer.Argument(help="the name of the new team")],
    parent: Annotated[str, typer.Option(help="the team or domain above the new one")] = "organization",
    *,
    domain: Annotated[
        bool, typer.Option("--domain", help="create a domain, which contains teams, in place of a team")
    ] = False,
) -> None:
    """Create a team or a domain."""
    answer = send_request("POST", "/domains" if domain else "/teams", body={"name": name, "parent": parent})
    say(f"{answer['name']} ({format_revision(answer)})")


def add_member(
    team: Team, member: Member, role: Annotated[str, typer.Option(help="the role of the member in the team")]
) -> None:
    """Add a member to a team, or change the role of a member."""
    answer = send_request("PUT", api_path("teams", team, "members", member), body={"role": role})
    say(f"{member} is {role} of {team} ({format_revision(answer)})")


def remove_member(team: Team, member: Member) -> None:
    """Remove a member from a team."""
    answer = send_request("DELETE", api_path("teams", team, "members", member))
    say(f"{member} is no longer in {team} ({format_revision(answer)})")
