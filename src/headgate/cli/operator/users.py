"""`headgate users` and `break-glass`: what the operator does on the deployment's own machine, without anybody's rights."""

import sys
from datetime import UTC, datetime
from typing import Annotated

import typer

from headgate.cli.command_groups import command_group
from headgate.cli.confirmation import require_reason
from headgate.cli.finite_numbers import require_finite
from headgate.cli.local import Data, listed_organization, open_local_deployment
from headgate.cli.output import fail, say, table
from headgate.cli.passwords import read_password

_HOUR = 3600.0

Login = Annotated[str, typer.Argument(metavar="NAME", help="the login name")]
Stdin = Annotated[bool, typer.Option("--password-stdin", help="read the password from stdin; else it is asked for")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    users = command_group("users", "The users of the deployment, who may be in many organizations.")
    users.command("create")(create)
    users.command("password")(password)
    users.command("list")(list_users)
    app.add_typer(users)
    app.command("break-glass")(break_glass)


def create(
    name: Login,
    email: Annotated[
        str | None, typer.Option(help="the address of the user; a login at the provider with it is this user's")
    ] = None,
    *,
    password_stdin: Stdin = False,
    without_password: Annotated[
        bool, typer.Option("--without-password", help="the user logs in at the OpenID Connect provider")
    ] = False,
    data: Data = None,
) -> None:
    """Make a new user of the deployment, who is in no organization yet."""
    secret = None if without_password else read_password(stdin=password_stdin)
    with open_local_deployment(data) as deployment:
        logins = deployment.entrance.authentication
        principal = logins.register(name, login=name, password=secret, email=email, verified=email is not None)
    say(f"{name} is a user of the deployment ({principal})")


def password(name: Login, *, password_stdin: Stdin = False, data: Data = None) -> None:
    """Give a user a new password, and end all their sessions."""
    secret = read_password(stdin=password_stdin)
    with open_local_deployment(data) as deployment:
        logins = deployment.entrance.authentication
        logins.set_password(logins.user_of(name), secret)
    say(f"{name} has a new password")


def list_users(data: Data = None) -> None:
    """Show the users of the deployment."""
    with open_local_deployment(data) as deployment:
        found = deployment.entrance.authentication.users()
    table(("name", "login", "address", "id"), [(each.name, each.login, each.email, each.principal) for each in found])


def break_glass(
    name: Login,
    organization: Annotated[str, typer.Option(help="the organization, by id or name")],
    why: Annotated[str, typer.Option(help="why; it stands in the audit")],
    hours: Annotated[
        float, typer.Option(min=0.01, callback=require_finite, help="after how many hours it ends by itself")
    ] = 1.0,
    data: Data = None,
) -> None:
    """Make a user a founder of an organization for a short time. The log, and every answer while it lasts, tell of it."""
    from headgate.control.deployment.break_glass import LONGEST, BreakGlass
    from headgate.control.kernel.metadata import CommandMetadata
    from headgate.control.kernel.ports import RequestOrigin

    require_reason(why)
    if hours * _HOUR > LONGEST:
        fail(f"`--hours` is {LONGEST / _HOUR:g} at most")
        sys.exit(1)
    with open_local_deployment(data) as deployment:
        user = deployment.entrance.authentication.user_of(name)
        control = deployment.organizations.open(listed_organization(deployment, organization)).control
        ends = control.now + hours * _HOUR
        control.execute(
            BreakGlass(user.principal, user.name, ends), None, CommandMetadata(RequestOrigin("operator"), why)
        )
    until = datetime.fromtimestamp(ends, UTC).isoformat(timespec="seconds")
    say(f"{name} rules {organization} until {until}; the audit says so")
