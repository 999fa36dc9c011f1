"""`headgate log`: the log of changes, and the proof that no entry was altered, removed or rewritten."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headgate.cli.client import send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.local import Data, open_store
from headgate.cli.options import OutputMode
from headgate.cli.output import errors, print_items, say, write_text

if TYPE_CHECKING:
    from headgate.store.verification import VerificationResult


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    logs = add_command_group(app, "log", "The log of changes: show, seal and verify it.")
    logs.command("show", epilog="Example: headgate log show --limit 20")(show_log)
    logs.command("verify", epilog="Example: headgate log verify --seal seals.jsonl")(verify_logs)
    logs.command("accept", epilog="Example: headgate log accept")(accept_logs)
    logs.command("seal", epilog="Example: headgate log seal")(seal_logs)
    logs.command("rotate-key", epilog="Example: headgate log rotate-key")(rotate_seal_key)


def show_log(
    after: Annotated[
        int, typer.Option("--after", metavar="REVISION", help="show only entries after this revision")
    ] = 0,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="the most entries to show")] = 100,
    *,
    output: OutputMode = "table",
) -> None:
    """Show the changes of the organization, each with its actor. `headgate audit list` shows their reasons, too."""
    columns: dict[str, Any] = {
        "revision": "revision",
        "at": lambda each: datetime.fromtimestamp(each["at"], UTC).isoformat(timespec="seconds"),
        "actor": lambda each: each["names"].get(each["actor"], each["actor"] or "headgate"),
        "command": "command",
        "changes": lambda each: ", ".join(change["change"] for change in each["changes"]),
    }
    print_items(send_request("GET", "/audit", after=after, limit=limit)["items"], columns, output)


def verify_logs(
    seals: Annotated[
        list[Path] | None,
        typer.Option(
            "--seal", metavar="FILE", help="a file with seals that `headgate log seal` wrote; can be repeated"
        ),
    ] = None,
    data: Data = None,
) -> None:
    """Verify that every log is intact.

    The command verifies the hash chain of the entries, the seals, and that no entries are missing at the end of a log. If a log is not intact, the command names its first wrong revision and ends with exit code 1.
    """
    from headgate.store.rollback_protection import HighWaterMarks
    from headgate.store.seal_keys import KnownKeys
    from headgate.store.seals import read_seals

    with open_store(data) as (stores, settings):
        given = [seal for file in seals or () for seal in read_seals(file.read_text(encoding="utf-8").splitlines())]
        total = sum(head.revision for head in stores.heads(stores.logs()).values())
        with _progress(total) as seen:
            proofs = stores.verify(
                given, seen, KnownKeys.read_beside(settings.seal_key), HighWaterMarks.locate_beside(settings.seal_key)
            )
    _say(proofs)


def accept_logs(data: Data = None) -> None:
    """Accept the logs of an older copy that you restored.

    The command verifies the logs first. Servers then seal them again. Run the command on each machine that has the key.
    """
    from headgate.store.rollback_protection import HighWaterMarks
    from headgate.store.seal_keys import KnownKeys

    with open_store(data) as (stores, settings):
        known = KnownKeys.read_beside(settings.seal_key)
        proofs = stores.verify(known=known)
        stores.accept(HighWaterMarks.locate_beside(settings.seal_key), known)
    _say(proofs)


def seal_logs(data: Data = None) -> None:
    """Sign the newest entry of every log, and print these seals. Keep them on another machine, for `headgate log verify --seal`."""
    with open_store(data, sealing=True) as (stores, _):
        for each in stores.seal():
            write_text(f"{each.line()}\n")


def rotate_seal_key(data: Data = None) -> None:
    """Create a new key for seals. Seals of the former key stay valid. A server uses the new key after its next start."""
    from headgate.app.settings.settings import default_settings
    from headgate.store.seal_keys import rotate_private_key as rotate_key

    key = rotate_key(default_settings(os.environ, folder=data).seal_key)
    say(f"the new key for seals has the fingerprint {key.fingerprint}; restart the server to use it")


def _say(proofs: "Sequence[VerificationResult]") -> None:
    for proof in proofs:
        sealed = f"sealed up to {proof.sealed}" if proof.sealed else "not sealed"
        say(f"the log `{proof.log}` is intact up to revision {proof.head}, {sealed}")


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on a terminal."""
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as progress:
        task = progress.add_task("entries", total=total)
        yield lambda _revision: progress.advance(task)
