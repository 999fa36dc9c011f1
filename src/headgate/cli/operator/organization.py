"""`headgate organization`: organizations, managed on the deployment's own machine; their export and import as files."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.command_groups import add_command_group
from headgate.cli.local import Data, exit_on_refusal, open_local_deployment, open_store
from headgate.cli.operator import model_changes, organization_management
from headgate.cli.output import note, say

if TYPE_CHECKING:
    from headgate.facts.ids import ResourceId

File = Annotated[
    Path, typer.Argument(help="the file of the export; keep it private, it has names and hashes of secrets")
]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    organizations = add_command_group(app, "organization", "Organizations of the deployment.")
    organization_management.register(organizations)
    model_changes.register_choice(organizations)
    organizations.command("export", epilog="Example: headgate organization export acme acme.tar")(export_organization)
    organizations.command("import", epilog="Example: headgate organization import acme.tar")(import_organization)


def export_organization(
    organization: Annotated[
        str, typer.Argument(metavar="ID|NAME", help="the name or id of the organization; of a deleted one, the id")
    ],
    file: File,
    data: Data = None,
) -> None:
    """Export an organization to a file.

    The export has its log with the hashes, its documents and the sources of its models. A server may run meanwhile. The export does not contain the data files of tables: copy the warehouse too.
    """
    id = _id_of(organization, data)
    with open_store(data) as (stores, _):
        lines = stores.export(id)
        first = next(lines)
        count = _write(file, first, lines)
    say(f"`{organization}` is exported to `{file}` ({count} lines), without the data files of its tables")


def import_organization(
    file: File,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="the name of the organization in this deployment; its id if left out"),
    ] = None,
    files: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FOLDER|PREFIX",
            help="a folder or prefix outside this deployment's warehouse that may contain files of its tables; can be repeated",
        ),
    ] = None,
    data: Data = None,
) -> None:
    """Import an organization from a file.

    The file must be intact, and the organization must not exist yet. The files of its tables must be in its folder of this deployment's warehouse (`warehouse/<id>`), or below a folder or
    prefix of `--files`.

    Its users become users of this deployment, without passwords (`headgate deployment-user set-password` sets one). In an
    empty deployment, it becomes the first organization.
    """
    from headgate.app.http.lakes import warehouse_of
    from headgate.control.deployment.import_organization import register_imported, require_importable
    from headgate.control.kernel.errors import InvalidError
    from headgate.control.models.library import is_model
    from headgate.control.organizations.commands import DEPLOYMENT
    from headgate.lake.metadata_files import location_of
    from headgate.lake.warehouse import may_adopt
    from headgate.store.import_log import read_export, read_exported_root

    _warn_of_missing(files or ())
    with exit_on_refusal(), file.open(encoding="utf-8") as lines:
        root = read_exported_root(read_export(lines))
        if root == DEPLOYMENT:
            raise InvalidError(
                f"`{file}` is the log of a deployment, not of an organization; use a file of `headgate organization export`"
            )
        title = name or root
        with open_store(data, new=True) as (stores, settings):
            is_new = not stores.logs()
            if not is_new:
                with open_local_deployment(data) as deployment:
                    require_importable(deployment.organizations, root, title)
            lines.seek(0)
            warehouse, named = warehouse_of(settings, root), tuple(files or ())
            facts = stores.take(
                read_export(lines),
                lambda pointer: may_adopt(warehouse, location_of(pointer.metadata_location), named),
                is_model,
            )
        with open_local_deployment(data) as deployment:
            register_imported(deployment.organizations, deployment.auth_services.authentication, facts, title)
    if is_new:
        say(f"created a new deployment in {'PostgreSQL' if settings.store_url else f'`{settings.folder}`'}")
    say(f"`{root}` is imported, at revision {facts.revision}, with {len(facts.principals)} principals")


def _warn_of_missing(files: Sequence[str]) -> None:
    """Warn of a folder that does not exist: its files can be copied later. A prefix in a bucket is not checked."""
    for each in files:
        if "://" not in each and not Path(each).is_dir():
            note(f"warning: there is no folder `{each}`; its tables cannot be read until their files are copied to it")


def _id_of(named: str, data: Path | None) -> "ResourceId":
    """Return the id of the organization with an id or name; the text itself if there is none."""
    from headgate.facts.ids import ResourceId

    with open_store(data) as (stores, _):
        if named in stores.logs():
            return ResourceId(named)
    with open_local_deployment(data) as deployment:
        return deployment.organizations.resolve_listed_id(named)


def _write(file: Path, first: str, lines: Iterable[str]) -> int:
    def written() -> Iterator[str]:
        yield first
        yield from lines

    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as opened_file:
        return sum(1 for line in written() if opened_file.write(line + "\n"))
