"""`headgate invitation`: how a user that the deployment has, or a new one, joins an organization."""

from typing import Annotated

import httpx
import typer

from headgate.cli.api.auth import use_session
from headgate.cli.client import ApiError, api_path, base, every, problem_of, send_request
from headgate.cli.output import say, table, when
from headgate.cli.passwords import read_password

Secret = Annotated[str, typer.Argument(metavar="INVITATION", help="the invitation, as `create` has shown it")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    invitations = typer.Typer(help="Invitations into the organization.", no_args_is_help=True)
    invitations.command("create")(create)
    invitations.command("list")(list_invitations)
    invitations.command("withdraw")(withdraw)
    invitations.command("accept")(accept)
    app.add_typer(invitations, name="invitation")


def create(
    role: Annotated[str, typer.Option(help="the role of the user, on the organization or on the place")] = "member",
    place: Annotated[str | None, typer.Option(help="where the user belongs, if not to the organization")] = None,
) -> None:
    """Create an invitation for one user. It is shown this once."""
    body = {"role": role, **({"place": place} if place else {})}
    say(send_request("POST", "/invitations", body=body)["invitation"])


def list_invitations() -> None:
    """Show the invitations that are not used: yours, or all if you manage users."""
    rows = [(each["id"], each["role"], each["by"], when(each["ends"])) for each in every("/invitations")]
    table(("id", "role", "by", "ends"), rows)


def withdraw(id: Annotated[str, typer.Argument(help="the id of the invitation")]) -> None:
    """Withdraw an invitation."""
    send_request("DELETE", api_path("invitations", id))
    say("the invitation is withdrawn")


def accept(
    invitation: Secret,
    login: Annotated[
        str | None, typer.Option(help="the login name of a new user; the user that is logged in joins if left out")
    ] = None,
    *,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="read the new user's password from stdin; else it is asked for")
    ] = False,
) -> None:
    """Join the organization of an invitation, as the user that is logged in, or with `--login` as a new user, who is logged in then."""
    path = api_path("invitations", invitation, "accept")
    if login is None:
        joined = send_request("POST", path)
        say(f"you are in the organization `{joined['name']}` now")
        return
    answer = httpx.post(
        f"{base()}/api/v1{path}", json={"login": login, "password": read_password(stdin=password_stdin)}
    )
    if answer.is_error:
        raise ApiError(problem_of(answer))
    joined = answer.json()
    kept = use_session(joined["login"]["session"], joined["login"]["ends"])
    say(f"{login} is in the organization `{joined['name']}` now, and logged in; {kept}")
