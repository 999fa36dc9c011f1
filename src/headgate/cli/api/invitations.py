"""`headgate invitation`: invitations of users into the organization."""

from typing import Annotated

import httpx
import typer

from headgate.cli.api.auth import use_session
from headgate.cli.client import ApiError, api_path, configured_url, every, problem_of, send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.options import PasswordStdin
from headgate.cli.output import format_time, print_table, say
from headgate.cli.passwords import read_password

Secret = Annotated[str, typer.Argument(metavar="INVITATION", help="the invitation, as `create` printed it")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    invitations = add_command_group(app, "invitation", "Invitations of users into the organization.")
    invitations.command("create")(create_invitation)
    invitations.command("list")(list_invitations)
    invitations.command("revoke")(revoke_invitation)
    invitations.command("accept")(accept_invitation)


def create_invitation(
    role: Annotated[str, typer.Option(help="the role of the user on the organization or the resource")] = "member",
    resource: Annotated[
        str | None, typer.Option(help="the resource that the user belongs to; the organization if left out")
    ] = None,
) -> None:
    """Create an invitation for one user. It is shown only once."""
    body = {"role": role, **({"place": resource} if resource else {})}
    say(send_request("POST", "/invitations", body=body)["invitation"])


def list_invitations() -> None:
    """Show the unused invitations: yours, or all if you manage users."""
    rows = [(each["id"], each["role"], each["by"], format_time(each["ends"])) for each in every("/invitations")]
    print_table(("id", "role", "invited by", "expires"), rows)


def revoke_invitation(id: Annotated[str, typer.Argument(help="the id of the invitation")]) -> None:
    """Revoke an invitation."""
    send_request("DELETE", api_path("invitations", id))
    say("the invitation is revoked")


def accept_invitation(
    invitation: Secret,
    login: Annotated[
        str | None, typer.Option(help="the login name of a new user; the logged-in user joins if left out")
    ] = None,
    *,
    password_stdin: PasswordStdin = False,
) -> None:
    """Join the organization of an invitation.

    The logged-in user joins or, with `--login`, a new user, which the command creates and logs in.
    """
    path = api_path("invitations", invitation, "accept")
    if login is None:
        joined = send_request("POST", path)
        say(f"you are now a member of the organization `{joined['name']}`")
        return
    answer = httpx.post(
        f"{configured_url()}/api/v1{path}", json={"login": login, "password": read_password(stdin=password_stdin)}
    )
    if answer.is_error:
        raise ApiError(problem_of(answer))
    joined = answer.json()
    kept = use_session(joined["login"]["session"], joined["login"]["ends"])
    say(f"{login} is now a member of the organization `{joined['name']}` and logged in; {kept}")
