"""Access of local commands to the data: opens the store, or the whole deployment over it."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.deployment_url import demo_folder
from headgate.cli.output import fail

if TYPE_CHECKING:
    from headgate.app.deployment import Deployment
    from headgate.app.settings.settings import Settings
    from headgate.control.kernel.metadata import CommandMetadata
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
    """Open the store that the settings name; with `sealing` it has the key that seals its logs. A server may use it meanwhile.

    If there is no store, the command ends with exit code 2, or creates one with `new`. A `StoreError` ends with exit code 1.
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
    """Open the deployment of an existing store. A server may serve it meanwhile, and sees what the command writes.

    A refused command ends with exit code 1.
    """
    from headgate.app.deployment import open_deployment_over

    with open_store(data, sealing=True) as (stores, settings):
        deployment = open_deployment_over(settings, stores)
        try:
            yield deployment
        finally:
            deployment.close()


def listed_organization(deployment: "Deployment", named: str) -> "ResourceId":
    """Return the id of the listed organization with an id or name. Raises `NotFoundError` with the command that lists them."""
    from headgate.control.kernel.errors import NotFoundError

    organizations = deployment.organizations
    id = organizations.resolve_listed_id(named)
    if id not in organizations.names_by_id:
        raise NotFoundError(f"there is no organization `{named}`; `headgate organization list` shows the organizations")
    return id


@contextmanager
def exit_on_refusal() -> Iterator[None]:
    """End with one sentence and exit code 1 if a command is refused, or the store or a file cannot be used."""
    from headgate.control.kernel.errors import CommandError
    from headgate.control.kernel.ports import StoreError

    try:
        yield
    except (CommandError, StoreError) as error:
        fail(str(error))
        sys.exit(1)
    except OSError as error:
        fail(f"the file `{error.filename}` cannot be used ({error.strerror}); check its path and permissions")
        sys.exit(1)


def operator_call(reason: str = "") -> "CommandMetadata":
    """Return the metadata of a change by the operator of the deployment."""
    from headgate.control.kernel.metadata import CommandMetadata
    from headgate.control.kernel.ports import RequestOrigin

    return CommandMetadata(RequestOrigin("operator"), reason)


def settings_of(data: Path | None) -> "Settings":
    """Return the settings of an existing store; without a store, end with exit code 2."""
    from headgate.app.settings.settings import default_settings
    from headgate.store import FILE

    settings = default_settings(os.environ, folder=data)
    if settings.store_url is None and not (settings.folder / FILE).is_file():
        demo = demo_folder(os.environ)
        fail(
            f"`{settings.folder}` is not a data folder: it has no file `{FILE}`; pass another folder with `--data`"
            f"{f' (the demo has `{demo}`)' if demo else ''}, or create one with `headgate serve`"
        )
        sys.exit(2)
    return settings
