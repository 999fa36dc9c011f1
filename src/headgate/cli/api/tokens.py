"""`headgate token`: API tokens."""

from typing import Annotated

import typer

from headgate.cli.client import api_path, every, format_revision, given_fields, send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.finite_numbers import require_finite
from headgate.cli.output import format_time, print_table, say

Principal = Annotated[str | None, typer.Option(help="the principal of the token; you if left out")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    tokens = add_command_group(app, "token", "API tokens of users and service principals.")
    tokens.command("list")(list_tokens)
    tokens.command("create")(create_token)
    tokens.command("revoke")(revoke_token)


def list_tokens(principal: Principal = None) -> None:
    """Show the tokens of a principal, without their secrets."""
    rows = (
        (each["id"], each["label"], format_time(each["ends"]), format_time(each["last_used"]))
        for each in every("/tokens", principal=principal)
    )
    print_table(("id", "label", "expires", "last used"), list(rows))


def create_token(
    principal: Principal = None,
    label: Annotated[str, typer.Option(help="the purpose of the token")] = "",
    days: Annotated[
        float | None, typer.Option(callback=require_finite, help="the number of days after which the token expires")
    ] = None,
    resource: Annotated[
        list[str] | None, typer.Option(help="the only resource the token is valid for; can be repeated")
    ] = None,
    action: Annotated[
        list[str] | None, typer.Option(help="the only action the token is valid for; can be repeated")
    ] = None,
    replaces: Annotated[
        str | None, typer.Option(metavar="ID", help="the id of a token to revoke at the same time")
    ] = None,
) -> None:
    """Create a token and print its secret, which is shown only once."""
    fields = {
        "principal": principal,
        "label": label,
        "days": days,
        "only": resource,
        "actions": action,
        "replaces": replaces,
    }
    say(send_request("POST", "/tokens", body=given_fields(fields))["token"])


def revoke_token(id: Annotated[str, typer.Argument(help="the id of the token")]) -> None:
    """Revoke a token. It stops working at once."""
    say(f"the token is revoked ({format_revision(send_request('DELETE', api_path('tokens', id)))})")
