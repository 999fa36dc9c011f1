"""The command line: the server's own commands, and the commands of the API from a shell."""

import sys
from importlib.metadata import version
from typing import Annotated

import httpx
import typer

from headgate.app.settings.settings import SettingsError
from headgate.cli.api import (
    access,
    agreements,
    assignments,
    audit,
    auth,
    change_requests,
    connections,
    databases,
    groups,
    invitations,
    lineage,
    notifications,
    pipelines,
    projects,
    raw,
    requests,
    resources,
    roles,
    runs,
    service_principals,
    sessions,
    settings,
    sql,
    status,
    teams,
    tokens,
    users,
)
from headgate.cli.client import ApiError
from headgate.cli.command_groups import GroupedByTopic
from headgate.cli.deployment_url import describe_unreachable
from headgate.cli.facts import commands as facts
from headgate.cli.model import commands as model
from headgate.cli.operator import (
    break_glass,
    catalog,
    deployment_users,
    doctor,
    log,
    operators,
    organization,
    secrets,
    serve,
    store,
    warehouse,
)
from headgate.cli.output import fail, say

app = typer.Typer(
    name="headgate",
    cls=GroupedByTopic,
    help="The access-control plane of a lakehouse: it decides about access, and Apache Spark enforces its decisions.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(value: bool) -> None:  # noqa: FBT001 (Typer passes the option's value)
    if value:
        say(f"headgate {version('headgate')}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="print the version, and exit")
    ] = False,
) -> None:
    pass


for module in (
    serve,
    doctor,
    auth,
    sessions,
    deployment_users,
    break_glass,
    users,
    service_principals,
    tokens,
    groups,
    invitations,
    projects,
    teams,
    roles,
    settings,
    assignments,
    resources,
    databases,
    connections,
    pipelines,
    runs,
    lineage,
    sql,
    access,
    requests,
    change_requests,
    agreements,
    notifications,
    audit,
    status,
    raw,
    log,
    operators,
    organization,
    store,
    secrets,
    catalog,
    warehouse,
    model,
    facts,
):
    module.register(app)


def main() -> None:
    """Run the command line. A failure prints one sentence and ends with an exit code other than 0."""
    try:
        app()
    except (ApiError, SettingsError) as error:
        fail(str(error))
        sys.exit(1)
    except httpx.InvalidURL as error:
        fail(f"the URL of the request is invalid ({error}); check HEADGATE_URL and the path")
        sys.exit(1)
    except httpx.TransportError as error:
        fail(describe_unreachable(error))
        sys.exit(1)
