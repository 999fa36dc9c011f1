"""`headgate model`: the access models of the server, and models as files, which need no server."""

import typer

from headgate.cli.api import models as server_models
from headgate.cli.command_groups import add_command_group
from headgate.cli.model import check, diff, document, fmt
from headgate.cli.operator import installed_models, model_changes
from headgate.cli.scenarios import commands


def register(app: typer.Typer) -> None:
    """Add the group of commands; each command has its module."""
    models = add_command_group(
        app, "model", "Access models: those of the server, and files to check, compare and test."
    )
    for module in (installed_models, server_models, check, diff, document, fmt, commands):
        module.register(models)
    model_changes.register_upgrade(models)
