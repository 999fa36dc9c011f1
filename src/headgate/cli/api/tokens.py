"""`headgate token`: API tokens."""

from typing import Annotated

import typer

from headgate.cli.client import api_path, every, format_revision, given_fields, send_request
from headgate.cli.finite_numbers import require_finite
from headgate.cli.output import say, table, when


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    tokens = typer.Typer(help="API tokens.", no_args_is_help=True)
    tokens.command("list")(list_tokens)
    tokens.command("issue")(issue_token)
    tokens.command("revoke")(revoke_token)
    app.add_typer(tokens, name="token")


def list_tokens(
    principal: Annotated[str | None, typer.Option("--of", help="whose; your own if left out")] = None,
) -> None:
    """Show tokens, without their secrets."""
    rows = (
        (each["id"], each["label"], when(each["ends"]), when(each["last_used"]))
        for each in every("/tokens", principal=principal)
    )
    table(("id", "label", "ends", "last used"), list(rows))


def issue_token(
    principal: Annotated[str | None, typer.Option("--for", help="whom it acts as; yourself if left out")] = None,
    label: Annotated[str, typer.Option(help="what it is for")] = "",
    days: Annotated[float | None, typer.Option(callback=require_finite, help="how long it lives")] = None,
    only: Annotated[list[str] | None, typer.Option(help="a resource that it is good for, and no other")] = None,
    action: Annotated[list[str] | None, typer.Option(help="an action that it is good for, and no other")] = None,
    replaces: Annotated[str | None, typer.Option(help="the id of the token that ends by this")] = None,
) -> None:
    """Issue a token. It is shown this once."""
    said = {"principal": principal, "label": label, "days": days, "only": only, "actions": action, "replaces": replaces}
    say(send_request("POST", "/tokens", body=given_fields(said))["token"])


def revoke_token(id: Annotated[str, typer.Argument(help="the token's id")]) -> None:
    """End a token, at once."""
    say(f"the token has ended ({format_revision(send_request('DELETE', api_path('tokens', id)))})")
