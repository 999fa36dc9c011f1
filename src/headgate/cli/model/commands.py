"""`headgate model`: access models as files, without a server."""

import typer

from headgate.cli.command_groups import add_command_group
from headgate.cli.model import check, diff, document, fmt
from headgate.cli.scenarios import commands


def register(app: typer.Typer) -> None:
    """Add the group of commands; each command has its module."""
    models = add_command_group(app, "model", "Access models as files: check, compare and test them.")
    for module in (check, diff, document, fmt, commands):
        module.register(models)
