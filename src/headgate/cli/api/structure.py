"""Projects, teams, roles and settings."""

from typing import Annotated, Any

import typer

from headgate.cli.client import api_path, every, send_request
from headgate.cli.output import say, table

Name = Annotated[str, typer.Argument(help="the name")]
On = Annotated[str, typer.Option("--on", help="a resource, by id or name")]
Under = Annotated[str, typer.Option("--under", help="a team or domain; else the organization")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    projects = typer.Typer(help="Projects, each under an access model.", no_args_is_help=True)
    projects.command("list")(list_projects)
    projects.command("create")(create_project)
    app.add_typer(projects, name="project")
    teams = typer.Typer(help="Teams of the ownership tree, and who is in them.", no_args_is_help=True)
    teams.command("list")(list_teams)
    teams.command("create")(create_team)
    teams.command("add")(add_member)
    teams.command("remove")(remove_member)
    app.add_typer(teams, name="team")
    roles = typer.Typer(help="Roles, also those that the organization defines.", no_args_is_help=True)
    roles.command("list")(list_roles)
    roles.command("define")(define_role)
    roles.command("delete")(delete_role)
    app.add_typer(roles, name="role")
    settings = typer.Typer(help="Switches of the access models.", no_args_is_help=True)
    settings.command("list")(list_settings)
    settings.command("set")(change_setting)
    app.add_typer(settings, name="setting")


def list_projects() -> None:
    """Show the projects that you may see."""
    table(("name", "model"), [(each["name"], each["model"]) for each in every("/projects")])


def create_project(name: Name) -> None:
    """Make a project."""
    say(f"project {name} ({_revision(send_request('POST', '/projects', body={'name': name}))})")


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
    say(f"{answer['name']} ({_revision(answer)})")


def add_member(
    team: Annotated[str, typer.Argument()], name: Name, role: Annotated[str, typer.Option(help="a role in teams")]
) -> None:
    """Put somebody into a team with a role, or give them another one there."""
    answer = send_request("PUT", api_path("teams", team, "members", name), body={"role": role})
    say(f"{name} is {role} of {team} ({_revision(answer)})")


def remove_member(team: Annotated[str, typer.Argument()], name: Name) -> None:
    """Take somebody out of a team."""
    say(f"{name} is out of {team} ({_revision(send_request('DELETE', api_path('teams', team, 'members', name)))})")


def list_roles() -> None:
    """Show the roles that can be assigned here, and on what."""
    rows = ((each["name"], each["model"], ", ".join(each["on"])) for each in every("/roles"))
    table(("role", "model", "on"), list(rows))


def define_role(name: Name, permissions: Annotated[list[str], typer.Argument(help="what it is made of")]) -> None:
    """Define a role of the organization's own."""
    say(f"role {name} ({_revision(send_request('PUT', api_path('roles', name), body={'permissions': permissions}))})")


def delete_role(name: Name) -> None:
    """Delete a role of the organization's own."""
    say(f"role {name} is gone ({_revision(send_request('DELETE', api_path('roles', name)))})")


def list_settings(on: On = "organization") -> None:
    """Show the switches of a resource, and what they can be."""
    rows = ((each["name"], each["value"], ", ".join(each["values"])) for each in every("/settings", resource=on))
    table(("setting", "value", "one of"), list(rows))


def change_setting(name: Name, value: Annotated[str, typer.Argument()], on: On = "organization") -> None:
    """Set a switch of a resource."""
    answer = send_request("PUT", api_path("settings", name), body={"value": value, "resource": on})
    say(f"{name} is {value} ({_revision(answer)})")


def _revision(answer: dict[str, Any]) -> str:
    return f"revision {answer['revision']}"
