"""`headgate users` and `headgate forget`: the users of the deployment, on its own machine."""

from typing import Annotated

import typer

from headgate.cli.command_groups import command_group
from headgate.cli.confirmation import confirm
from headgate.cli.local import Data, open_local_deployment, open_store
from headgate.cli.output import say, table
from headgate.cli.passwords import read_password

Login = Annotated[str, typer.Argument(metavar="NAME", help="the login name")]
Stdin = Annotated[bool, typer.Option("--password-stdin", help="read the password from stdin; else it is asked for")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    users = command_group("users", "The users of the deployment, who may be in many organizations.")
    users.command("create")(create)
    users.command("password")(password)
    users.command("list")(list_users)
    app.add_typer(users)
    app.command("forget")(forget)


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


def forget(
    user: Annotated[str, typer.Argument(help="an id, a login name, an e-mail address or a name")],
    *,
    yes: Annotated[bool, typer.Option("--yes", help="erase without asking first")] = False,
    data: Data = None,
) -> None:
    """Erase a person: names, logins, sessions, tokens and reasons, in every organization; their rights end with it.

    What they did stays in the logs, under an id that no longer names a user. The command asks for confirmation first.
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
        say(f"`{principal}` is forgotten in the log `{log}`: {documents} documents are erased")
