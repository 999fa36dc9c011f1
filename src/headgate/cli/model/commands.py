"""`headgate model`: what can be done with access models as files, without a server."""

import typer

from headgate.cli.model import check, diff, docs, fmt
from headgate.cli.scenarios import commands


def register(app: typer.Typer) -> None:
    """Add the group of commands; each command has its module."""
    models = typer.Typer(name="model", help="Access models: files that say who may do what.", no_args_is_help=True)
    for module in (check, diff, docs, fmt, commands):
        module.register(models)
    app.add_typer(models)
