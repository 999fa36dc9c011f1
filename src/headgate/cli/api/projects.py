"""`headgate project`: projects, each under an access model."""

from typing import Annotated

import typer

from headgate.cli.client import every, format_revision, send_request
from headgate.cli.output import say, table

Name = Annotated[str, typer.Argument(help="the name")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    projects = typer.Typer(help="Projects, each under an access model.", no_args_is_help=True)
    projects.command("list")(list_projects)
    projects.command("create")(create_project)
    app.add_typer(projects, name="project")


def list_projects() -> None:
    """Show the projects that you may see."""
    table(("name", "model"), [(each["name"], each["model"]) for each in every("/projects")])


def create_project(name: Name) -> None:
    """Make a project."""
    say(f"project {name} ({format_revision(send_request('POST', '/projects', body={'name': name}))})")
