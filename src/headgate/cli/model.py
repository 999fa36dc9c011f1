"""`headgate model`: what can be done with access models as files, without a server."""

import typer

from headgate.cli import model_check, model_diff, model_docs, model_fmt, model_test


def register(app: typer.Typer) -> None:
    """Add the group of commands; each command has its module."""
    models = typer.Typer(name="model", help="Access models: files that say who may do what.", no_args_is_help=True)
    for module in (model_check, model_diff, model_docs, model_fmt, model_test):
        module.register(models)
    app.add_typer(models)
