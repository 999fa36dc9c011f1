"""`headgate run`: the runs of pipelines."""

import sys
from functools import partial
from typing import Annotated, Any

import typer

from headgate.cli.client import ApiError, api_path, send_request, send_write
from headgate.cli.command_groups import add_command_group
from headgate.cli.options import Detach, DryRun, OutputMode, Reason
from headgate.cli.output import format_time, print_item, print_items, say
from headgate.cli.run_progress import UNDER_WAY, follow, show_new_lines
from headgate.cli.writes import WriteOptions, write

RunId = Annotated[str, typer.Argument(metavar="RUN", help="the id of the run; `headgate run list` shows it")]

_get = partial(send_request, "GET")


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    runs = add_command_group(app, "run", "Runs of pipelines.")
    runs.command("list", epilog="Example: headgate run list --pipeline delays --state failed")(list_runs)
    runs.command("show", epilog="Example: headgate run show r_1")(show_run)
    runs.command("show-log", epilog="Example: headgate run show-log r_1 --follow")(show_log)
    runs.command("cancel", epilog="Example: headgate run cancel r_1")(cancel_run)
    runs.command("retry", epilog="Example: headgate run retry r_1")(retry_run)


def list_runs(
    pipeline: Annotated[
        str | None, typer.Option("--pipeline", metavar="PIPELINE", help="show only the runs of this pipeline")
    ] = None,
    state: Annotated[
        str | None,
        typer.Option(
            "--state",
            metavar="STATE",
            help="show only runs in this state: queued, running, succeeded, failed, cancelled or refused",
        ),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="the most entries to show")] = 50,
    *,
    output: OutputMode = "table",
) -> None:
    """Show the newest runs that you may see."""
    columns: dict[str, Any] = {
        "run": "run",
        "pipeline": "name",
        "state": "state",
        "queued": lambda each: format_time(each["queued"]),
        "lasted": _lasted,
        "why": "why",
    }
    found = send_request("GET", "/runs", pipeline=pipeline, state=state, limit=limit)["items"]
    print_items(found, columns, output)


def show_run(run: RunId, *, output: OutputMode = "table") -> None:
    """Show a run. The output has its state with the reason, attempts, progress and metrics."""
    found = send_request("GET", api_path("runs", run))
    lines = {
        "run": run,
        "pipeline": found["name"],
        "state": f"{found['state']}{': ' + found['why'] if found['why'] else ''}",
        "started by": f"{found['trigger']}{' of ' + found['by'] if found['by'] else ''}",
        "queued": format_time(found["queued"]),
        "started": format_time(found["started"]),
        "ended": format_time(found["ended"]),
        "lasted": _lasted(found),
        "attempts": found["attempts"],
        "cluster": found["cluster"],
        "range": None if found["since"] is found["until"] is None else f"{found['since']} to {found['until']}",
        **{name.replace("_", " "): f"{value:,.0f}" for name, value in found["progress"].items()},
        **{name: f"{value:,.10g}" for name, value in found["metrics"].items()},
    }
    print_item(found, lines, output)


def show_log(
    run: RunId,
    *,
    until_end: Annotated[bool, typer.Option("--follow", help="show new lines until the run has ended")] = False,
) -> None:
    """Show the log of a run."""
    if until_end:
        attend(run)
    else:
        show_new_lines(_get, run, 0)


def cancel_run(run: RunId, *, dry_run: DryRun = False, reason: Reason = "", output: OutputMode = "table") -> None:
    """Cancel a queued or running run."""
    write(WriteOptions(dry_run, reason, output), "POST", api_path("runs", run, "cancel"), f"{run} is cancelled")


def retry_run(
    run: RunId, *, detach: Detach = False, dry_run: DryRun = False, reason: Reason = "", output: OutputMode = "table"
) -> None:
    """Repeat a finished run as a new run, and show its progress. `--output json` implies `--detach`."""
    begin_run(WriteOptions(dry_run, reason, output), api_path("runs", run, "retry"), detach=detach)


def begin_run(options: WriteOptions, path: str, *, detach: bool) -> None:
    """Queue a run by a POST, and show its progress unless the caller does not wait; see `attend`."""
    if options.dry_run or options.output == "json":
        write(options, "POST", path, "")
    else:
        attend(send_write("POST", path, reason=options.reason)["run"], detach=detach)


def attend(run: str, *, detach: bool = False) -> None:
    """Show the progress of a run until it has ended. Raises `ApiError` unless the run succeeded.

    Ctrl-C asks whether to cancel the run, if there is a terminal; without one, the run continues.
    """
    if detach:
        say(f"run {run} is queued; `headgate run show-log --follow {run}` shows its progress")
        return
    try:
        found = follow(_get, run)
    except KeyboardInterrupt:
        _leave(run)
        return
    if found["state"] != "succeeded":
        why = f": {found['why']}" if found["why"] else f"; `headgate run show-log {run}` shows the reason"
        raise ApiError(
            f"the run `{run}` {'was ' if found['state'] in ('cancelled', 'refused') else ''}{found['state']}{why}"
        )


def _leave(run: str) -> None:
    state = _get(f"/runs/{run}")["state"]
    if state in UNDER_WAY and sys.stdin.isatty() and typer.confirm(f"\nCancel the run {run}?"):
        cancel_run(run)
        return
    say(
        f"\nthe run continues; `headgate run show-log --follow {run}` shows its progress, `headgate run cancel {run}` cancels it"
    )


def _lasted(found: dict[str, Any]) -> str:
    if found["started"] is None or found["ended"] is None:
        return ""
    return f"{found['ended'] - found['started']:,.1f} s"
