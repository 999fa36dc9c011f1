"""`headgate store`: backup and restore of an embedded store."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.command_groups import add_command_group
from headgate.cli.local import Data, exit_on_refusal, settings_of
from headgate.cli.output import fail, say

if TYPE_CHECKING:
    from headgate.app.settings.settings import Settings

_ELSEWHERE = (
    "the store is in PostgreSQL; use `pg_dump --format=custom` and `pg_restore`, which copy one consistent state too"
)


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    store = add_command_group(app, "store", "Backup and restore of the embedded store.")
    store.command("backup", epilog="Example: headgate store backup copy.db")(back_up_store)
    store.command("restore", epilog="Example: headgate store restore copy.db")(restore_store)


def back_up_store(file: Annotated[Path, typer.Argument(help="the file to create")], data: Data = None) -> None:
    """Copy the store to a file.

    The copy has every log and document in one consistent state; a server may run meanwhile. It contains neither the keys nor the data files of tables: copy the folders `keys` and `warehouse` too.
    """
    from headgate.store.backup import back_up

    settings = settings_of(data)
    _embedded(settings)
    with exit_on_refusal():
        back_up(settings.folder, file)
    say(f"the store of `{settings.folder}` is copied to `{file}`, without the keys and the data files of tables")


def restore_store(
    file: Annotated[Path, typer.Argument(help="a file that `headgate store backup` wrote")], data: Data = None
) -> None:
    """Restore a copy of the store. Every log in it must be intact, and the data folder must have no store."""
    from headgate.app.settings.settings import default_settings
    from headgate.store import backup
    from headgate.store.rollback_protection import HighWaterMarks
    from headgate.store.seal_keys import KnownKeys

    settings = default_settings(os.environ, folder=data)
    _embedded(settings)
    with exit_on_refusal():
        # Without the keys no seal can be verified.
        known = KnownKeys.read_beside(settings.seal_key)
        marks = HighWaterMarks.locate_beside(settings.seal_key)
        proofs = backup.restore(file, settings.folder, known if known.keys else None, marks)
    for proof in proofs:
        say(f"the log `{proof.log}` is intact up to revision {proof.head}")
    if not known.keys:
        say(
            f"the seals were not checked: `{settings.seal_key.parent}` has no key; before you start a server, copy the folder "
            "`keys` of the deployment into the data folder and run `headgate log verify`"
        )


def _embedded(settings: "Settings") -> None:
    if settings.store_url is not None:
        fail(_ELSEWHERE)
        sys.exit(1)
