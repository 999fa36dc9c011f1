"""The command line: the server's own commands, and the API's from a shell."""

import sys

import httpx
import typer

from headgate.app.settings.settings import SettingsError
from headgate.cli import (
    access,
    account,
    anything,
    ask,
    backup,
    catalog,
    connections,
    directory,
    doctor,
    facts,
    forget,
    invitations,
    lakehouse,
    lineage,
    log,
    login,
    model,
    operators,
    organization,
    pipelines,
    questions,
    runs,
    secrets,
    serving,
    statements,
    structure,
    users,
    warehouse,
)
from headgate.cli.addresses import describe_unreachable
from headgate.cli.api import ApiError
from headgate.cli.command_groups import Grouped
from headgate.cli.output import fail

app = typer.Typer(
    name="headgate",
    cls=Grouped,
    help="The access-control plane of a lakehouse: it decides who may do what, and makes Apache Spark obey.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for module in (
    serving,
    doctor,
    login,
    account,
    users,
    directory,
    invitations,
    structure,
    access,
    lakehouse,
    connections,
    pipelines,
    runs,
    lineage,
    statements,
    questions,
    anything,
    log,
    forget,
    operators,
    organization,
    backup,
    secrets,
    catalog,
    warehouse,
    model,
    ask,
    facts,
):
    module.register(app)


def main() -> None:
    """Run the command line; every failure is one sentence and an exit code that is not 0."""
    try:
        app()
    except (ApiError, SettingsError) as error:
        fail(str(error))
        sys.exit(1)
    except httpx.InvalidURL as error:
        fail(f"the address cannot be used ({error}); check HEADGATE_URL and the path")
        sys.exit(1)
    except httpx.TransportError as error:
        fail(describe_unreachable(error))
        sys.exit(1)
