"""The lake, connections and pipelines."""

from pathlib import Path
from typing import Annotated

import typer
import yaml

from headgate.cli.api import ApiError, call, every
from headgate.cli.following import follow
from headgate.cli.output import say, table


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("ls")(list_resources)
    databases = typer.Typer(help="Databases of the lake.", no_args_is_help=True)
    databases.command("create")(create_database)
    app.add_typer(databases, name="database")
    connections = typer.Typer(help="Folders that pipelines may read.", no_args_is_help=True)
    connections.command("create")(create_connection)
    app.add_typer(connections, name="connection")
    pipelines = typer.Typer(help="Pipelines and their runs.", no_args_is_help=True)
    pipelines.command("list")(list_pipelines)
    pipelines.command("save")(save_pipeline)
    pipelines.command("run")(run_pipeline)
    app.add_typer(pipelines, name="pipeline")


def list_resources() -> None:
    """Show everything that you may see."""
    table(("name", "type"), [(each["name"], each["type"]) for each in every("/resources")])


def create_database(name: Annotated[str, typer.Argument()]) -> None:
    """Create a database in the lake."""
    answer = call("POST", "/databases", body={"name": name})
    say(f"{answer['name']} (revision {answer['revision']})")


def create_connection(name: Annotated[str, typer.Argument()], folder: Annotated[Path, typer.Argument()]) -> None:
    """Declare a folder that pipelines may read through this connection."""
    answer = call("POST", "/connections", body={"name": name, "folder": str(folder.absolute())})
    say(f"connection {name} (revision {answer['revision']})")


def list_pipelines() -> None:
    """Show the pipelines that you may see."""
    found = every("/pipelines")
    rows = [(each["name"], each["kind"], each["run_as"], "running" if each["running"] else "") for each in found]
    table(("name", "kind", "run-as", ""), rows)


def save_pipeline(file: Annotated[Path, typer.Argument(help="a YAML definition")]) -> None:
    """Make a pipeline, or replace its definition; its runs then use your rights."""
    try:
        definition = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ApiError(f"`{file}` cannot be read: {' '.join(str(error).split())}") from None
    name = definition.get("name") if isinstance(definition, dict) else None
    if not isinstance(name, str):
        raise ApiError(f"`{file}` is not a pipeline's definition; write at least its `kind` and its `name`")
    say(f"{name} (revision {call('PUT', f'/pipelines/{name}', body=definition)['revision']})")


def run_pipeline(name: Annotated[str, typer.Argument()]) -> None:
    """Run a pipeline and show how it goes."""
    run = call("POST", f"/pipelines/{name}/runs")["run"]
    document = follow(lambda: call("GET", f"/runs/{run}"))
    if document["state"] != "succeeded":
        raise ApiError(f"the run `{run}` {document['state']}; its log above says why")
