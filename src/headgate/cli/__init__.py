"""The command line: the server's own commands, and the API's from a shell."""

import sys

import httpx
import typer

from headgate.app.settings.settings import SettingsError
from headgate.cli.addresses import describe_unreachable
from headgate.cli.api import (
    account,
    assignments,
    connections,
    databases,
    directory,
    invitations,
    lineage,
    login,
    pipelines,
    questions,
    raw,
    runs,
    sql,
    structure,
)
from headgate.cli.ask import commands as ask
from headgate.cli.client import ApiError
from headgate.cli.command_groups import Grouped
from headgate.cli.model import commands as model
from headgate.cli.operator import (
    backup,
    catalog,
    doctor,
    facts,
    forget,
    log,
    operators,
    organization,
    secrets,
    serve,
    users,
    warehouse,
)
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
    serve,
    doctor,
    login,
    account,
    users,
    directory,
    invitations,
    structure,
    assignments,
    databases,
    connections,
    pipelines,
    runs,
    lineage,
    sql,
    questions,
    raw,
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
