"""`headgate facts export`: the facts of an organization as a file."""

import sys
from contextlib import closing
from itertools import takewhile
from pathlib import Path
from typing import Annotated

import typer

from headgate.cli.output import fail, write_text


def export_facts(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="a data folder, which a server may use meanwhile")],
    organization: Annotated[str, typer.Option(help="the organization, by its id")] = "organization",
) -> None:
    """Print the log of an organization as a facts file, which has ids in it, but no names, e-mail addresses or secrets."""
    from headgate.control.kernel.ports import StoreError
    from headgate.facts.encoding import write_history
    from headgate.facts.ids import ResourceId
    from headgate.store import FILE, open_stores

    if not (data / FILE).is_file():
        fail(f"`{data}` is no data folder; it has no `{FILE}`; name another, or begin one with `headgate serve`")
        sys.exit(2)
    try:
        with closing(open_stores(data)) as stores:
            store = stores.log(ResourceId(organization))
            head = store.head().revision
            if not head:
                fail(f"there is no organization `{organization}`; name one by its id")
                sys.exit(2)
            for line in write_history(takewhile(lambda entry: entry.revision <= head, store.entries()), head):
                write_text(f"{line}\n")
    except StoreError as error:
        fail(str(error))
        sys.exit(2)
