"""`headgate warehouse`: the files of tables, on the deployment's own machine."""

import sys
from typing import TYPE_CHECKING

import typer

from headgate.cli.command_groups import add_command_group
from headgate.cli.local import Data, exit_on_refusal, open_local_deployment
from headgate.cli.options import DryRun
from headgate.cli.output import errors, fail, print_table, say

if TYPE_CHECKING:
    from headgate.app.relocations import FormerTable, Relocations

COLUMNS = ("organization", "table", "bytes", "result")


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    warehouse = add_command_group(app, "warehouse", "The warehouse: the files of the tables.")
    warehouse.command("move", epilog="Example: headgate warehouse move --dry-run")(move_tables)


def move_tables(
    *,
    dry_run: DryRun = False,
    data: Data = None,
) -> None:
    """Move tables of an earlier version to their organizations.

    An earlier version kept the files of all organizations' tables in one folder. Such a table can be read and written, but
    it can be purged, or registered again after it was dropped, only after its files are in its organization's folder. Data
    files are linked, not copied; metadata and manifests contain paths, so new ones are written. A table that cannot be moved
    is unchanged and is shown with the reason; the exit code is then 1. The command can be interrupted at any time and run
    again. Stop the server first: statements on a table that is being moved fail.
    """
    from rich.progress import Progress

    from headgate.app.relocations import Relocations

    with exit_on_refusal(), open_local_deployment(data) as deployment:
        if deployment.settings.bucket is not None:
            fail("the tables are in a bucket, so no table has to be moved; nothing was changed")
            sys.exit(1)
        relocations = Relocations(deployment.organizations, deployment.settings.warehouse)
        waiting = list(relocations.list_waiting())
        rows = [(each.organization.id, each.name, str(each.measure_size())) for each in waiting]
        with Progress(console=errors, transient=True) as progress:
            tables = progress.track(waiting, description="moving")
            results = ["would be moved" if dry_run else _moved(relocations, each) for each in tables]
        removed = 0 if dry_run else relocations.remove_leftovers()
    if removed:
        say(f"{removed} folders that earlier moves left behind are removed")
    if not waiting:
        say("every table is in its organization's folder; there is nothing to move")
        return
    print_table(COLUMNS, [(*row, result) for row, result in zip(rows, results, strict=True)])
    refused = sum(1 for each in results if each not in ("moved", "would be moved"))
    say(f"{len(results) - refused} {'would be' if dry_run else 'were'} moved, {refused} were not")
    if refused:
        sys.exit(1)


def _moved(relocations: "Relocations", former: "FormerTable") -> str:
    """Move a table, and return the result as text: `moved`, or the reason why not."""
    from headgate.control.kernel.ports import PointerConflictError
    from headgate.lake.errors import LakeError

    try:
        relocations.move(former)
    except PointerConflictError:
        return "not moved: the table was changed meanwhile; run the command again"
    except LakeError as error:
        return f"not moved: {error}"
    except OSError as error:
        return f"not moved: the file `{error.filename}` cannot be used ({error.strerror}); check its permissions and the disk, and run the command again"
    return "moved"
