"""`headgate forget`: a person is erased from everything that can be erased, and the logs stay whole."""

from typing import Annotated

import typer

from headgate.cli.confirmation import confirm
from headgate.cli.local import Data, open_local_deployment, open_store
from headgate.cli.output import say


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("forget")(forget)


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
