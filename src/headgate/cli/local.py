"""What a command on the deployment's own machine opens: the store, or the whole deployment over it."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.output import fail

if TYPE_CHECKING:
    from headgate.app.deployment import Deployment
    from headgate.app.settings.settings import Settings
    from headgate.facts.ids import ResourceId
    from headgate.store import SqlStores

Data = Annotated[
    Path | None,
    typer.Option(
        "--data", help="the data folder on this machine, used without a token (HEADGATE_DATA; .headgate if left out)"
    ),
]


@contextmanager
def open_store(
    data: Path | None, *, sealing: bool = False, new: bool = False
) -> Iterator[tuple["SqlStores", "Settings"]]:
    """The store that the settings name, with the key that seals it or without; it may be served meanwhile.

    Where there is none, it ends with exit code 2, or a `new` one is made. A `StoreError` ends with exit code 1.
    """
    from headgate.app.settings.settings import default_settings
    from headgate.store import open_stores

    settings = default_settings(os.environ, folder=data) if new else settings_of(data)
    with exit_on_refusal():
        stores = open_stores(settings.store_url or settings.folder, settings.seal_key if sealing else None)
        try:
            yield stores, settings
        finally:
            stores.close()


@contextmanager
def open_local_deployment(data: Path | None) -> Iterator["Deployment"]:
    """The deployment of a store that is there, beside a server of it if there is one, which takes over what is written.

    What is refused ends with exit code 1.
    """
    from headgate.app.deployment import open_deployment_over

    with open_store(data, sealing=True) as (stores, settings):
        deployment = open_deployment_over(settings, stores)
        try:
            yield deployment
        finally:
            deployment.close()


def listed_organization(deployment: "Deployment", named: str) -> "ResourceId":
    """Return the id of the listed organization of this id or name. Raises `NotFoundError`, which may name those there are."""
    from headgate.control.kernel.errors import NotFoundError

    organizations = deployment.organizations
    id = organizations.resolve_listed_id(named)
    if id not in organizations.names_by_id:
        raise NotFoundError(f"there is no organization `{named}`; `headgate organization list` shows those there are")
    return id


@contextmanager
def exit_on_refusal() -> Iterator[None]:
    """End with one sentence and exit code 1 where a command is refused, or the store or a file cannot be used."""
    from headgate.control.kernel.errors import CommandError
    from headgate.control.kernel.ports import StoreError

    try:
        yield
    except (CommandError, StoreError) as error:
        fail(str(error))
        sys.exit(1)
    except OSError as error:
        fail(f"`{error.filename}` cannot be used ({error.strerror})")
        sys.exit(1)


def settings_of(data: Path | None) -> "Settings":
    """Return the settings, of a store that is there; without one it ends with exit code 2."""
    from headgate.app.settings.settings import default_settings
    from headgate.store import FILE

    settings = default_settings(os.environ, folder=data)
    if settings.store_url is None and not (settings.folder / FILE).is_file():
        fail(
            f"`{settings.folder}` is no data folder; it has no `{FILE}`; name another with `--data`, or begin one with `headgate serve`"
        )
        sys.exit(2)
    return settings
