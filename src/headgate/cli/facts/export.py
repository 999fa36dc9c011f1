"""`headgate facts export`: the facts of an organization as a file."""

import sys
from contextlib import closing
from itertools import takewhile
from pathlib import Path
from typing import Annotated

import typer

from headgate.cli.output import fail, write_text


def export_facts(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="the data folder; a server may use it meanwhile")],
    organization: Annotated[str, typer.Option(help="the id of the organization")] = "organization",
) -> None:
    """Print the log of an organization as a facts file.

    The file has the ids of principals, but not their names, e-mail addresses or secrets.
    """
    from headgate.control.kernel.ports import StoreError
    from headgate.facts.encoding import write_history
    from headgate.facts.ids import ResourceId
    from headgate.store import FILE, open_stores

    if not (data / FILE).is_file():
        fail(
            f"`{data}` is not a data folder: it has no file `{FILE}`; pass another folder, or create one with `headgate serve`"
        )
        sys.exit(2)
    try:
        with closing(open_stores(data)) as stores:
            store = stores.log(ResourceId(organization))
            head = store.head().revision
            if not head:
                fail(f"no organization has the id `{organization}`; `headgate organization list` shows the ids")
                sys.exit(2)
            for line in write_history(takewhile(lambda entry: entry.revision <= head, store.entries()), head):
                write_text(f"{line}\n")
    except StoreError as error:
        fail(str(error))
        sys.exit(2)
