"""The command line: the server's own commands, and the commands of the API from a shell."""

from collections.abc import Iterable
from importlib import import_module
from typing import Annotated

import typer

from headgate.cli.command_groups import GroupedByTopic
from headgate.cli.output import say


def build_app(modules: Iterable[str]) -> typer.Typer:
    """Return the command line with the commands of these modules of the index."""
    app = typer.Typer(
        name="headgate",
        cls=GroupedByTopic,
        help="The access-control plane of a lakehouse: it decides about access, and Apache Spark enforces its decisions.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_options)
    for module in modules:
        import_module(f"headgate.cli.{module}").register(app)
    return app


def _print_version(value: bool) -> None:  # noqa: FBT001 (Typer passes the option's value)
    if value:
        from importlib.metadata import version

        say(f"headgate {version('headgate')}")
        raise typer.Exit


def _options(
    *,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="print the version, and exit")
    ] = False,
) -> None:
    pass
