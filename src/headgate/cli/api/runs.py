"""`headgate run`: the runs of pipelines."""

import sys
from functools import partial
from typing import Annotated, Any

import typer

from headgate.cli.client import ApiError, api_path, send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.options import Detach
from headgate.cli.output import format_time, print_table, say
from headgate.cli.run_progress import UNDER_WAY, follow, show_new_lines

Run = Annotated[str, typer.Argument(help="the id of the run")]

_get = partial(send_request, "GET")


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    runs = add_command_group(app, "run", "Runs of pipelines.")
    runs.command("list")(list_runs)
    runs.command("show")(show_run)
    runs.command("show-log")(show_log)
    runs.command("cancel")(cancel_run)
    runs.command("retry")(retry_run)


def list_runs(
    pipeline: Annotated[str | None, typer.Option(help="show only the runs of this pipeline")] = None,
    state: Annotated[
        str | None,
        typer.Option(help="show only runs in this state: queued, running, succeeded, failed, cancelled or refused"),
    ] = None,
    limit: Annotated[int, typer.Option(help="the most entries to show")] = 50,
) -> None:
    """Show the newest runs that you may see."""
    found = send_request("GET", "/runs", pipeline=pipeline, state=state, limit=limit)["items"]
    rows = [
        (each["run"], each["name"], each["state"], format_time(each["queued"]), _lasted(each), each["why"])
        for each in found
    ]
    print_table(("run", "pipeline", "state", "queued", "lasted", "why"), rows)


def show_run(run: Run) -> None:
    """Show a run. The output has its state with the reason, attempts, progress and metrics."""
    found = send_request("GET", api_path("runs", run))
    said = {
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
    print_table(("run", run), [(name, value) for name, value in said.items() if value not in (None, "")])


def show_log(
    run: Run,
    *,
    until_end: Annotated[bool, typer.Option("--follow", help="show new lines until the run has ended")] = False,
) -> None:
    """Show the log of a run."""
    if until_end:
        attend(run)
    else:
        show_new_lines(_get, run, 0)


def cancel_run(run: Run) -> None:
    """Cancel a queued or running run."""
    say(f"{run} is cancelled (revision {send_request('POST', api_path('runs', run, 'cancel'))['revision']})")


def retry_run(run: Run, *, detach: Detach = False) -> None:
    """Repeat a finished run as a new run, and show its progress."""
    attend(send_request("POST", api_path("runs", run, "retry"))["run"], detach=detach)


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
