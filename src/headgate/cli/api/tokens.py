"""`headgate token`: API tokens."""

from typing import Annotated, Any

import typer

from headgate.cli.client import api_path, every, given_fields
from headgate.cli.command_groups import add_command_group
from headgate.cli.finite_numbers import require_finite
from headgate.cli.options import AboutPrincipal, DryRun, OutputMode, Reason
from headgate.cli.output import format_time, print_items
from headgate.cli.writes import WriteOptions, write

TokenId = Annotated[str, typer.Argument(metavar="TOKEN", help="the id of the token; `headgate token list` shows it")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    tokens = add_command_group(app, "token", "API tokens of users and service principals.")
    tokens.command("list", epilog="Example: headgate token list --principal loader")(list_tokens)
    tokens.command("create", epilog="Example: headgate token create --principal loader --days 90")(create_token)
    tokens.command("revoke", epilog="Example: headgate token revoke t_1")(revoke_token)


def list_tokens(principal: AboutPrincipal = None, *, output: OutputMode = "table") -> None:
    """Show the tokens of a principal, without their secrets."""
    columns: dict[str, Any] = {
        "id": "id",
        "label": "label",
        "expires": lambda each: format_time(each["ends"]),
        "acts in": lambda each: each["acts_in"] or "-",
        "last used": lambda each: format_time(each["last_used"]),
    }
    print_items(every("/tokens", principal=principal), columns, output)


def create_token(
    principal: AboutPrincipal = None,
    label: Annotated[str, typer.Option("--label", metavar="TEXT", help="the purpose of the token")] = "",
    days: Annotated[
        float | None,
        typer.Option(
            "--days", metavar="N", callback=require_finite, help="the number of days after which the token expires"
        ),
    ] = None,
    resource: Annotated[
        list[str] | None,
        typer.Option(
            "--resource", metavar="RESOURCE", help="the only resource the token is valid for; can be repeated"
        ),
    ] = None,
    action: Annotated[
        list[str] | None,
        typer.Option("--action", metavar="ACTION", help="the only action the token is valid for; can be repeated"),
    ] = None,
    replaces: Annotated[
        str | None, typer.Option("--replaces", metavar="TOKEN", help="the id of a token to revoke at the same time")
    ] = None,
    acts_in: Annotated[
        str | None,
        typer.Option(
            "--acts-in",
            metavar="TEAM",
            help="the team in which the principal acts: its roles alone count for actions that the access model lists in `acting`",
        ),
    ] = None,
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Create a token and print its secret, which is shown only once."""
    fields = {
        "principal": principal,
        "label": label,
        "days": days,
        "only": resource,
        "actions": action,
        "replaces": replaces,
        "acts_in": acts_in,
    }
    write(
        WriteOptions(dry_run, reason, output),
        "POST",
        "/tokens",
        lambda made: str(made["token"]),
        body=given_fields(fields),
    )


def revoke_token(token: TokenId, *, dry_run: DryRun = False, reason: Reason = "", output: OutputMode = "table") -> None:
    """Revoke a token. It stops working at once."""
    path = api_path("tokens", token)
    write(WriteOptions(dry_run, reason, output), "DELETE", path, "the token is revoked")
