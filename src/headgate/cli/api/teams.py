"""`headgate team`: the teams and domains of the ownership tree."""

from typing import Annotated

import typer

from headgate.cli.client import api_path, every, format_revision, send_request
from headgate.cli.output import say, table

Name = Annotated[str, typer.Argument(help="the name")]
Under = Annotated[str, typer.Option("--under", help="a team or domain; else the organization")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    teams = typer.Typer(help="Teams of the ownership tree, and who is in them.", no_args_is_help=True)
    teams.command("list")(list_teams)
    teams.command("create")(create_team)
    teams.command("add")(add_member)
    teams.command("remove")(remove_member)
    app.add_typer(teams, name="team")


def list_teams() -> None:
    """Show the teams and domains that you may see."""
    rows = ((each["name"], each["type"]) for noun in ("domains", "teams") for each in every(f"/{noun}"))
    table(("name", "type"), sorted(rows))


def create_team(
    name: Name,
    under: Under = "organization",
    *,
    domain: Annotated[bool, typer.Option("--domain", help="a domain, which holds teams")] = False,
) -> None:
    """Make a team or a domain."""
    answer = send_request("POST", "/domains" if domain else "/teams", body={"name": name, "parent": under})
    say(f"{answer['name']} ({format_revision(answer)})")


def add_member(
    team: Annotated[str, typer.Argument()], name: Name, role: Annotated[str, typer.Option(help="a role in teams")]
) -> None:
    """Put somebody into a team with a role, or give them another one there."""
    answer = send_request("PUT", api_path("teams", team, "members", name), body={"role": role})
    say(f"{name} is {role} of {team} ({format_revision(answer)})")


def remove_member(team: Annotated[str, typer.Argument()], name: Name) -> None:
    """Take somebody out of a team."""
    say(
        f"{name} is out of {team} ({format_revision(send_request('DELETE', api_path('teams', team, 'members', name)))})"
    )
