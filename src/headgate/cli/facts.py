"""`headgate facts`: an organization's facts as a file, to be asked without a server."""

import sys
from itertools import takewhile
from pathlib import Path
from typing import Annotated

import typer

from headgate.cli.output import fail


def register(app: typer.Typer) -> None:
    """Add the group of commands. With one command only, the group would be the command: so it has a callback."""
    facts = typer.Typer(name="facts", help="An organization's facts as a file.", no_args_is_help=True)
    facts.command("export")(export)
    facts.callback()(lambda: None)
    app.add_typer(facts)


def export(
    folder: Annotated[Path, typer.Argument(metavar="DATA", help="a data folder; it may be served meanwhile")],
) -> None:
    """Print the log of a data folder as a facts file: ids only, no names, e-mail addresses or secrets."""
    from headgate.control.ports import StoreError
    from headgate.facts.encoding import write_history
    from headgate.store import FILE, SqliteStore

    if not (folder / FILE).is_file():
        fail(f"`{folder}` is no data folder; it has no `{FILE}`")
        sys.exit(2)
    try:
        store = SqliteStore.open(folder)
        head = store.head()
        for line in write_history(takewhile(lambda entry: entry.revision <= head, store.entries()), head):
            print(line)
        store.close()
    except StoreError as error:
        fail(str(error))
        sys.exit(2)
