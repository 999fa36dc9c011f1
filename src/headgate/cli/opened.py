"""The store of a deployment, opened by a command on its own machine; it may be served meanwhile."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.output import fail

if TYPE_CHECKING:
    from headgate.app.settings import Settings
    from headgate.store import SqlStores

Data = Annotated[Path | None, typer.Option("--data", help="the data folder (HEADGATE_DATA; .headgate if left out)")]


@contextmanager
def opened(data: Path | None, *, sealing: bool = False) -> Iterator[tuple["SqlStores", "Settings"]]:
    """The store that the settings name, with the key that seals it or without. A `StoreError` ends with exit code 1."""
    from headgate.app.settings import default_settings
    from headgate.control.ports import StoreError
    from headgate.store import FILE, open_stores

    settings = default_settings(os.environ, folder=data)
    if settings.store_url is None and not (settings.folder / FILE).is_file():
        fail(f"`{settings.folder}` is no data folder; it has no `{FILE}`")
        sys.exit(2)
    try:
        stores = open_stores(settings.store_url or settings.folder, settings.seal_key if sealing else None)
        try:
            yield stores, settings
        finally:
            stores.close()
    except StoreError as error:
        fail(str(error))
        sys.exit(1)
