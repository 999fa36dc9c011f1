"""`headgate catalog`: the import of other Iceberg catalogs, on the deployment's own machine."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.command_groups import add_command_group
from headgate.cli.local import Data, exit_on_refusal, open_local_deployment
from headgate.cli.options import DryRun
from headgate.cli.output import errors, fail, print_table, say

if TYPE_CHECKING:
    from headgate.app.catalog_import import ImportCandidate
    from headgate.app.deployment import Deployment
    from headgate.control.organizations.organization import Organization
    from headgate.lake.other_catalog import OtherCatalog

From = Annotated[
    list[str],
    typer.Option(
        "--from",
        metavar="NAME|KEY=VALUE",
        help="the other catalog: its name in PyIceberg's configuration, or one of its properties (`type=sql`); can be repeated",
    ),
]
COLUMNS = ("table", "location", "snapshots", "columns", "result")


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    catalogs = add_command_group(app, "catalog", "Import the tables of other Iceberg catalogs.")
    catalogs.command("import", epilog="Example: headgate catalog import --from prod --dry-run")(import_catalog)


def import_catalog(
    source: From,
    organization: Annotated[
        str | None, typer.Option(help="the organization that receives the tables; required if there are several")
    ] = None,
    *,
    dry_run: DryRun = False,
    data: Data = None,
) -> None:
    """Import the tables of another catalog that PyIceberg can read. Their files are not moved.

    The command creates no assignments. It refuses a table, with the reason, if one of its files is outside the location of
    the table, in a place that Headgate cannot read, or in the folder of another table; the exit code is then 1. Write to the
    imported tables through Headgate only: the other catalog does not see commits of Headgate.
    """
    from rich.progress import Progress

    from headgate.app.catalog_import import CatalogImport
    from headgate.app.http.lakes import warehouse_of

    with open_local_deployment(data) as deployment:
        taking = _taking(deployment, organization)
        warehouse = warehouse_of(deployment.settings, taking.id)
        importing = CatalogImport(taking, deployment.organizations, warehouse)
        with _opened(source) as other, Progress(console=errors, transient=True) as progress:
            tables = progress.track(importing.scan(other), total=other.count, description="reading")
            found = [each if dry_run else importing.import_table(each) for each in tables]
    print_table(COLUMNS, [_row(each, dry_run=dry_run) for each in found])
    refused = sum(1 for each in found if each.problem)
    say(f"{len(found) - refused} {'would be' if dry_run else 'were'} imported, {refused} refused")
    if refused:
        sys.exit(1)


def _taking(deployment: "Deployment", named: str | None) -> "Organization":
    """Return the organization that receives the tables. End with exit code 1 if it is not named and there are several."""
    from headgate.control.kernel.errors import InvalidError

    listed = deployment.organizations.names_by_id
    with exit_on_refusal():
        if named is None and len(listed) > 1:
            ways = " or ".join(f"`--organization {each}`" for each in sorted(listed.values()))
            raise InvalidError(f"there are several organizations; choose the one that receives the tables: {ways}")
        if not listed:
            raise InvalidError("there is no organization; create one with `headgate organization create`")
        return deployment.organizations.find(named or next(iter(listed)))


@contextmanager
def _opened(source: list[str]) -> "Iterator[OtherCatalog]":
    """Open the other catalog. End with exit code 2 for a wrong or missing property, and if the catalog does not answer."""
    from headgate.lake.other_catalog import OtherCatalog, OtherCatalogError

    pairs = [each.partition("=") for each in source]
    named = [key for key, equals, _ in pairs if not equals]
    properties = {key: value for key, equals, value in pairs if equals}
    try:
        with OtherCatalog(named[0] if named else "other", properties) as other:
            yield other
    except OtherCatalogError as error:
        fail(f"the other catalog cannot be read ({error}); check its URL and its credentials")
        sys.exit(2)


def _row(found: "ImportCandidate", *, dry_run: bool) -> tuple[object, ...]:
    name = ".".join(found.name)
    if found.loaded is None:
        return (name, "", "", "", f"refused: {found.problem}")
    metadata = found.loaded.metadata
    done = "would be imported" if dry_run else "imported"
    return (name, metadata.location, len(metadata.snapshots), len(metadata.schema().columns), done)
