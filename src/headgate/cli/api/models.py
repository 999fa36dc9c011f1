"""`headgate model list` and `show`: the access models of the server."""

from typing import Annotated

import typer

from headgate.cli.client import api_path, every, send_request
from headgate.cli.options import OutputMode
from headgate.cli.output import print_item, print_items


def register(models: typer.Typer) -> None:
    """Add the commands to the group of the models."""
    models.command("list", epilog="Example: headgate model list")(list_models)
    models.command("show", epilog="Example: headgate model show harbour")(show_model)


def list_models(*, output: OutputMode = "table") -> None:
    """Show the access models that come with Headgate, and those that decide in the organization, each in its version.

    The column `installed` has the version to which the organization can be upgraded.
    """
    columns = {
        "name": "name",
        "version": "version",
        "in force": lambda each: "yes" if each["in_force"] else "",
        "installed": "installed",
        "hash": "hash",
    }
    print_items(every("/models"), columns, output)


def show_model(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="the name of the model; `headgate model list` shows it")
    ],
    *,
    output: OutputMode = "table",
) -> None:
    """Show an access model of the server: its types, settings and roles. JSON has the actions that each role has, too."""
    found = send_request("GET", api_path("models", model))
    lines = {
        "name": found["name"],
        "version": found["version"],
        "in force": "yes" if found["in_force"] else "no",
        "installed": found["installed"],
        "hash": found["hash"],
        "types": ", ".join(each["name"] for each in found["types"]),
        "settings": "; ".join(f"{each['name']}: {', '.join(each['values'])}" for each in found["settings"]),
        "roles": "; ".join(f"{each['name']} on {', '.join(each['on'])}" for each in found["roles"]),
    }
    print_item(found, lines, output)
