"""`headgate break-glass`: emergency access. It makes a user a founder for a short time, from the deployment's machine."""

import sys
from datetime import UTC, datetime
from typing import Annotated

import typer

from headgate.cli.command_groups import add_command_group
from headgate.cli.confirmation import require_reason
from headgate.cli.finite_numbers import require_finite
from headgate.cli.local import Data, listed_organization, open_local_deployment, operator_call
from headgate.cli.options import Reason
from headgate.cli.output import fail, say

_HOUR = 3600.0

Login = Annotated[str, typer.Argument(metavar="NAME", help="the login name of the user")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = add_command_group(app, "break-glass", "Emergency access: founder privileges for a short time.")
    group.command(
        "grant",
        epilog='Example: headgate break-glass grant ann --organization acme --hours 4 --reason "no owner is left"',
    )(grant_break_glass)


def grant_break_glass(
    name: Login,
    organization: Annotated[str, typer.Option(help="the organization, by id or name")],
    reason: Reason,
    hours: Annotated[
        float,
        typer.Option(min=0.01, callback=require_finite, help="the number of hours after which the privileges expire"),
    ] = 1.0,
    data: Data = None,
) -> None:
    """Make a user a founder of an organization for a short time.

    The log records it with the reason, and until it expires every response of the organization has a header that says so.
    """
    from headgate.control.deployment.break_glass import LONGEST, BreakGlass

    require_reason(reason)
    if hours * _HOUR > LONGEST:
        fail(f"`--hours` is {hours:g}; pass at most {LONGEST / _HOUR:g}")
        sys.exit(1)
    with open_local_deployment(data) as deployment:
        user = deployment.auth_services.authentication.user_of(name)
        control = deployment.organizations.open(listed_organization(deployment, organization)).control
        ends = control.now + hours * _HOUR
        control.execute(BreakGlass(user.principal, user.name, ends), None, operator_call(reason))
    until = datetime.fromtimestamp(ends, UTC).isoformat(timespec="seconds")
    say(f"{name} is a founder of {organization} until {until}; the audit records it")
