"""`headgate pipeline`: the definitions of pipelines, their states and their runs."""

from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from headgate.cli.api.runs import attend
from headgate.cli.client import ApiError, api_path, every, send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.errors import describe_unreadable
from headgate.cli.options import Detach, DryRun
from headgate.cli.output import print_table, say

Name = Annotated[str, typer.Argument(help="the name of the pipeline")]
File = Annotated[Path, typer.Argument(help="a YAML file with the definition")]

STATES = {
    "activate": "Activate a pipeline: it takes new runs.",
    "deactivate": "Deactivate a pipeline: it takes no new runs.",
    "pause": "Pause a pipeline: stop its runs, and take no new ones.",
    "resume": "Resume a paused pipeline: it takes new runs.",
    "clean-and-restart": "Restart a stream capture without its progress and rows.",
}
"""The help of each command that changes the state of a pipeline."""


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    pipelines = add_command_group(app, "pipeline", "Pipelines: their definitions, states and runs.")
    pipelines.command("list")(list_pipelines)
    pipelines.command("show")(show_pipeline)
    pipelines.command("save")(save_pipeline)
    pipelines.command("check")(check_pipeline)
    pipelines.command("show-rows")(show_rows)
    pipelines.command("delete")(delete_pipeline)
    pipelines.command("run")(run_pipeline)
    pipelines.command("backfill")(backfill_pipeline)
    for verb in STATES:
        _add_state(pipelines, verb)


def list_pipelines() -> None:
    """Show the pipelines that you may see."""
    found = every("/pipelines")
    rows = [
        (each["name"], each["kind"], each["run_as"], "running" if each["running"] else each["state"]) for each in found
    ]
    print_table(("name", "kind", "run-as", "state"), rows)


def show_pipeline(name: Name) -> None:
    """Show a pipeline. The output has its definition, its run-as principal and its last runs."""
    found = send_request("GET", api_path("pipelines", name))
    run_as = f"runs as {found['run_as']}" if found["run_as"] else "has no run-as principal, so its runs wait"
    say(f"# {found['kind']} {found['name']}, {found['state']}, {run_as}")
    if found["definition"]:
        say(yaml.safe_dump(_said(found["definition"]), sort_keys=False, allow_unicode=True).rstrip())
    for each in send_request("GET", "/runs", pipeline=found["id"], limit=5)["items"]:
        say(f"# run {each['run']}: {each['state']}{': ' + each['why'] if each['why'] else ''}")


def save_pipeline(file: File) -> None:
    """Create a pipeline, or replace its definition. Its runs then use your privileges."""
    name, definition = _read(file)
    say(f"{name} (revision {send_request('PUT', api_path('pipelines', name), body=definition)['revision']})")


def check_pipeline(file: File) -> None:
    """Check a definition without saving it. The check is that you may save it, and that its SELECT reads what it declares."""
    name, definition = _read(file)
    send_request("PUT", api_path("pipelines", name), body=definition, dry_run="true")
    say(f"{name} can be saved")


def show_rows(name: Name) -> None:
    """Show the rows of a visualization or a saved query."""
    found = send_request("GET", api_path("pipelines", name, "rows"))
    print_table([column for column, _ in found["columns"]], [[str(value) for value in row] for row in found["rows"]])
    if found["cut"]:
        say("# there are more rows")


def _read(file: Path) -> tuple[str, dict[str, Any]]:
    try:
        definition = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ApiError(describe_unreadable(file, error)) from None
    except yaml.YAMLError as error:
        raise ApiError(f"`{file}` is not valid YAML: {' '.join(str(error).split())}") from None
    name = definition.get("name") if isinstance(definition, dict) else None
    if not isinstance(name, str):
        raise ApiError(
            f"`{file}` is not the definition of a pipeline: it has no `name`; write at least `kind` and `name`"
        )
    return name, definition


def delete_pipeline(name: Name) -> None:
    """Delete a pipeline. The tables that it wrote are kept."""
    say(f"{name} is deleted (revision {send_request('DELETE', api_path('pipelines', name))['revision']})")


def run_pipeline(name: Name, *, detach: Detach = False) -> None:
    """Run a pipeline and show its progress. Ctrl-C asks whether to cancel the run."""
    attend(send_request("POST", api_path("pipelines", name, "runs"))["run"], detach=detach)


def backfill_pipeline(
    name: Name,
    since: Annotated[str | None, typer.Option(help="the first cursor value (inclusive)")] = None,
    until: Annotated[str | None, typer.Option(help="the last cursor value (exclusive)")] = None,
    step: Annotated[
        str | None, typer.Option(help="the range of one run: a number, or a duration such as `P1D`")
    ] = None,
    *,
    dry_run: DryRun = False,
) -> None:
    """Run a pipeline again for a range of cursor values. It is one run, or one run for each step of the range."""
    body = {"since": since, "until": until, "step": int(step) if step and step.isdecimal() else step}
    query = {"dry_run": "true"} if dry_run else {}
    answer = send_request("POST", api_path("pipelines", name, "backfill"), body=body, **query)
    runs = ["would run"] * len(answer["ranges"]) if dry_run else answer["runs"]
    print_table(
        ("run", "since", "until"),
        [(run, each["since"], each["until"]) for run, each in zip(runs, answer["ranges"], strict=True)],
    )


def _add_state(pipelines: typer.Typer, verb: str) -> None:
    def change_state(name: Name) -> None:
        say(f"{name}: {verb} (revision {send_request('POST', api_path('pipelines', name, verb))['revision']})")

    pipelines.command(verb, help=STATES[verb])(change_state)


def _said(definition: dict[str, Any]) -> dict[str, Any]:
    """Return a definition without its empty fields."""
    return {key: value for key, value in definition.items() if value not in (None, [], {}, "")}
