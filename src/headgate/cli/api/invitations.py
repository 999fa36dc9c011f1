"""`headgate invitation`: invitations of users into the organization."""

from typing import Annotated, Any

import httpx
import typer

from headgate.cli.api.auth import use_session
from headgate.cli.client import ApiError, api_path, configured_url, every, given_fields, problem_of, send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.options import DryRun, FirstRole, HomeResource, OutputMode, PasswordStdin, Reason
from headgate.cli.output import format_time, print_items, say
from headgate.cli.passwords import read_password
from headgate.cli.writes import WriteOptions, write

Secret = Annotated[str, typer.Argument(metavar="INVITATION", help="the invitation, as `create` printed it")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    invitations = add_command_group(app, "invitation", "Invitations of users into the organization.")
    invitations.command("create", epilog="Example: headgate invitation create --role member")(create_invitation)
    invitations.command("list", epilog="Example: headgate invitation list")(list_invitations)
    invitations.command("revoke", epilog="Example: headgate invitation revoke i_1")(revoke_invitation)
    invitations.command("accept", epilog="Example: headgate invitation accept i_1.secret --login ann")(
        accept_invitation
    )


def create_invitation(
    role: FirstRole = None,
    resource: HomeResource = None,
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Create an invitation for one user. It is shown only once."""
    body = given_fields({"role": role, "place": resource})
    write(
        WriteOptions(dry_run, reason, output), "POST", "/invitations", lambda made: str(made["invitation"]), body=body
    )


def list_invitations(*, output: OutputMode = "table") -> None:
    """Show the unused invitations: yours, or all if you manage users."""
    columns: dict[str, Any] = {
        "id": "id",
        "role": "role",
        "invited by": "by",
        "expires": lambda each: format_time(each["ends"]),
    }
    print_items(every("/invitations"), columns, output)


def revoke_invitation(
    id: Annotated[
        str,
        typer.Argument(metavar="INVITATION-ID", help="the id of the invitation; `headgate invitation list` shows it"),
    ],
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Revoke an invitation."""
    path = api_path("invitations", id)
    write(WriteOptions(dry_run, reason, output), "DELETE", path, lambda _: "the invitation is revoked")


def accept_invitation(
    invitation: Secret,
    login: Annotated[
        str | None,
        typer.Option(
            "--login", metavar="NAME", help="the login name of a new user; the logged-in user joins if left out"
        ),
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
