"""`headgate project`: projects, each under an access model."""

from typing import Annotated

import typer

from headgate.cli.client import every, format_revision, send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.output import print_table, say


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    projects = add_command_group(app, "project", "Projects, each under an access model.")
    projects.command("list")(list_projects)
    projects.command("create")(create_project)


def list_projects() -> None:
    """Show the projects that you may see."""
    print_table(("name", "model"), [(each["name"], each["model"]) for each in every("/projects")])


def create_project(name: Annotated[str, typer.Argument(help="the name of the new project")]) -> None:
    """Create a project."""
    say(f"project {name} ({format_revision(send_request('POST', '/projects', body={'name': name}))})")
