"""`headgate forget`: a person is erased from everything that can be erased, and the logs stay whole."""

from typing import Annotated

import typer

from headgate.cli.opened import Data, deployed, opened
from headgate.cli.output import say


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("forget")(forget)


def forget(
    user: Annotated[str, typer.Argument(help="an id, a login name, an e-mail address or a name")],
    data: Data = None,
) -> None:
    """Erase a person: names, logins, sessions, tokens and reasons, in every organization; their rights end with it.

    What they did stays in the logs, under an id that means nobody any more.
    """
    from headgate.control import personal

    with deployed(data) as deployment:
        principal = personal.person(deployment.organizations, user)
        erased = personal.forget(deployment.organizations, principal)
    with opened(data) as (stores, _):
        stores.settle()
    for log, documents in erased.items():
        say(f"`{principal}` is forgotten in the log `{log}`: {documents} documents are erased")
