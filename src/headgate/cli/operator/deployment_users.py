"""`headgate deployment-user`: the users of the deployment, on its own machine."""

from typing import Annotated

import typer

from headgate.cli.command_groups import add_command_group
from headgate.cli.confirmation import confirm
from headgate.cli.local import Data, open_local_deployment, open_store
from headgate.cli.options import OutputMode, PasswordStdin, Yes
from headgate.cli.output import print_items, say
from headgate.cli.passwords import read_password

Login = Annotated[str, typer.Argument(metavar="NAME", help="the login name of the user")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    users = add_command_group(app, "deployment-user", "Logins, each of a `user` in any number of organizations.")
    users.command("create", epilog="Example: headgate deployment-user create ann")(create_user)
    users.command("set-password", epilog="Example: headgate deployment-user set-password ann")(set_password)
    users.command("list", epilog="Example: headgate deployment-user list")(list_users)
    users.command("erase", epilog="Example: headgate deployment-user erase ann")(erase_user)


def create_user(
    name: Login,
    email: Annotated[
        str | None, typer.Option(help="the e-mail address by which the OpenID Connect provider knows the user")
    ] = None,
    *,
    password_stdin: PasswordStdin = False,
    without_password: Annotated[
        bool,
        typer.Option("--without-password", help="set no password; the user logs in at the OpenID Connect provider"),
    ] = False,
    data: Data = None,
) -> None:
    """Create a user of the deployment. The user is not yet a member of an organization."""
    secret = None if without_password else read_password(stdin=password_stdin)
    with open_local_deployment(data) as deployment:
        logins = deployment.auth_services.authentication
        principal = logins.register(name, login=name, password=secret, email=email, verified=email is not None)
    say(f"{name} is a user of the deployment ({principal})")


def set_password(name: Login, *, password_stdin: PasswordStdin = False, data: Data = None) -> None:
    """Set a new password for a user. All sessions of the user end."""
    secret = read_password(stdin=password_stdin)
    with open_local_deployment(data) as deployment:
        logins = deployment.auth_services.authentication
        logins.set_password(logins.user_of(name), secret)
    say(f"{name} has a new password")


def list_users(*, data: Data = None, output: OutputMode = "table") -> None:
    """Show the users of the deployment."""
    with open_local_deployment(data) as deployment:
        found = deployment.auth_services.authentication.users()
    items = [{"id": each.principal, "name": each.name, "login": each.login, "email": each.email} for each in found]
    print_items(items, {"name": "name", "login": "login", "e-mail": "email", "id": "id"}, output)


def erase_user(
    user: Annotated[str, typer.Argument(help="the id, login name, e-mail address or name of the user")],
    *,
    yes: Yes = False,
    data: Data = None,
) -> None:
    """Erase the personal data of a user in every organization.

    Names, logins, sessions, tokens and reasons are erased. The user loses all access. The changes that the user made stay in the logs, under an id that no longer names a user. The
    command asks for confirmation.
    """
    from headgate.control.deployment import erasure

    with open_local_deployment(data) as deployment:
        principal = erasure.find_person(deployment.organizations, user)
        if not yes:
            confirm(
                f"Erase `{user}` (`{principal}`) from every organization? This cannot be undone.", "nothing was erased"
            )
        erased = erasure.erase_person(deployment.organizations, principal)
    with open_store(data) as (stores, _):
        stores.settle()
    for log, documents in erased.items():
        say(f"`{principal}` is erased from the log of `{log}`: {documents} documents are erased")
