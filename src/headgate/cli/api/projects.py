"""`headgate project`: projects, each under an access model."""

from typing import Annotated

import typer

from headgate.cli.client import api_path, every, send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.completion import complete_project
from headgate.cli.options import DryRun, NewName, OutputMode, Reason
from headgate.cli.output import print_item, print_items
from headgate.cli.writes import WriteOptions, write

Project = Annotated[
    str, typer.Argument(metavar="PROJECT", autocompletion=complete_project, help="the project, by name or id")
]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    projects = add_command_group(app, "project", "Projects, each under an access model.")
    projects.command("list", epilog="Example: headgate project list")(list_projects)
    projects.command("create", epilog="Example: headgate project create shop")(create_project)
    projects.command("show", epilog="Example: headgate project show shop")(show_project)
    projects.command("rename", epilog="Example: headgate project rename shop store")(rename_project)
    projects.command("delete", epilog="Example: headgate project delete shop")(delete_project)


def list_projects(*, output: OutputMode = "table") -> None:
    """Show the projects that you may see."""
    print_items(every("/projects"), {"name": "name", "model": "model"}, output)


def create_project(
    name: NewName, *, dry_run: DryRun = False, reason: Reason = "", output: OutputMode = "table"
) -> None:
    """Create a project."""
    path = "/projects"
    write(WriteOptions(dry_run, reason, output), "POST", path, f"project {name} is created", body={"name": name})


def show_project(project: Project, *, output: OutputMode = "table") -> None:
    """Show a project with its access model."""
    found = send_request("GET", api_path("projects", project))
    print_item(found, {key: found[key] for key in ("id", "name", "model")}, output)


def rename_project(
    project: Project, name: NewName, *, dry_run: DryRun = False, reason: Reason = "", output: OutputMode = "table"
) -> None:
    """Rename a project."""
    path = api_path("projects", project)
    write(WriteOptions(dry_run, reason, output), "PATCH", path, f"project {project} is now {name}", body={"name": name})


def delete_project(
    project: Project, *, dry_run: DryRun = False, reason: Reason = "", output: OutputMode = "table"
) -> None:
    """Delete a project."""
    path = api_path("projects", project)
    write(WriteOptions(dry_run, reason, output), "DELETE", path, f"project {project} is deleted")
