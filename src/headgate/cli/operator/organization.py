"""`headgate organization`: managed on the deployment's own machine; as a file, out of a deployment and into another one."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.command_groups import command_group
from headgate.cli.local import Data, exit_on_refusal, open_local_deployment, open_store
from headgate.cli.operator import organization_management
from headgate.cli.output import note, say

if TYPE_CHECKING:
    from headgate.facts.ids import ResourceId

File = Annotated[Path, typer.Argument(help="the file; it holds names and hashes of secrets")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    organizations = command_group("organization", "The organizations of the deployment, on its own machine.")
    organization_management.register(organizations)
    organizations.command("export")(export)
    organizations.command("import")(take)
    app.add_typer(organizations)


def export(
    organization: Annotated[str, typer.Argument(metavar="ID|NAME", help="its id or name; of a removed one its id")],
    file: File,
    data: Data = None,
) -> None:
    """Write an organization to a file: its log with the hashes, its documents and its models' sources.

    It may be served meanwhile. The data files of its tables are not in it: copy the warehouse too.
    """
    id = _id_of(organization, data)
    with open_store(data) as (stores, _):
        lines = stores.export(id)
        first = next(lines)
        count = _write(file, first, lines)
    say(f"`{organization}` is in `{file}` ({count} lines); the data files of its tables are not")


def take(
    file: File,
    name: Annotated[str | None, typer.Option(help="its name here; its id if left out")] = None,
    files: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FOLDER|PREFIX",
            help="where files of its tables may lie outside of this deployment's warehouse; one option for each place",
        ),
    ] = None,
    data: Data = None,
) -> None:
    """Take in an organization from a file, if that proves to be whole and there is no such organization yet.

    The files of its tables lie in its folder of the warehouse here (`warehouse/<id>`), or below a place that is named.

    Its users become users of this deployment, with login names that wait for a password (`headgate users password`). A
    deployment that has not begun yet begins with this organization.
    """
    from headgate.app.deployment import is_model
    from headgate.app.http.lakes import warehouse_of
    from headgate.control.deployment.import_organization import register_imported, require_importable
    from headgate.control.kernel.errors import InvalidError
    from headgate.control.organizations.commands import DEPLOYMENT
    from headgate.lake.metadata_files import location_of
    from headgate.lake.warehouse import may_adopt
    from headgate.store.import_log import exported_root, read_export

    _warn_of_missing(files or ())
    with exit_on_refusal(), file.open(encoding="utf-8") as lines:
        root = exported_root(read_export(lines))
        if root == DEPLOYMENT:
            raise InvalidError(
                "the file is of a deployment, not of an organization; export one with `headgate organization export`"
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
            register_imported(deployment.organizations, deployment.entrance.authentication, facts, title)
    if is_new:
        say(f"began a new deployment in {'PostgreSQL' if settings.store_url else f'`{settings.folder}`'}")
    say(f"`{root}` is an organization here, at revision {facts.revision}, with {len(facts.principals)} principals")


def _warn_of_missing(files: Sequence[str]) -> None:
    """Warn of a folder that does not exist: files can be copied later. A prefix in a bucket is not looked for."""
    for each in files:
        if "://" not in each and not Path(each).is_dir():
            note(f"warning: there is no folder `{each}`; tables there cannot be read until their files are copied")


def _id_of(named: str, data: Path | None) -> "ResourceId":
    """Return the id of an organization of this id or name; the text itself if there is none."""
    from headgate.facts.ids import ResourceId

    with open_store(data) as (stores, _):
        if named in stores.logs():
            return ResourceId(named)
    with open_local_deployment(data) as deployment:
        return deployment.organizations.listed_id(named)


def _write(file: Path, first: str, lines: Iterable[str]) -> int:
    def written() -> Iterator[str]:
        yield first
        yield from lines

    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as opened_file:
        return sum(1 for line in written() if opened_file.write(line + "\n"))
