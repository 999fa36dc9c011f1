"""`headgate pipeline`: the definitions of pipelines, their states and their runs."""

from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from headgate.cli.api.runs import begin_run
from headgate.cli.client import ApiError, api_path, every, send_request, send_write
from headgate.cli.command_groups import add_command_group
from headgate.cli.completion import complete_pipeline
from headgate.cli.options import Detach, DryRun, OutputMode, Reason
from headgate.cli.output import print_items, print_table, say, write_json
from headgate.cli.writes import WriteOptions, write
from headgate.cli.yaml_files import read_yaml

PipelineName = Annotated[
    str, typer.Argument(metavar="PIPELINE", autocompletion=complete_pipeline, help="the pipeline, by name or id")
]
DefinitionFile = Annotated[Path, typer.Argument(metavar="FILE", help="a YAML file with the definition; `-` is stdin")]
StreamName = Annotated[str, typer.Argument(metavar="STREAM", help="the name of the stream")]

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
    pipelines.command("list", epilog="Example: headgate pipeline list")(list_pipelines)
    pipelines.command("show", epilog="Example: headgate pipeline show delays")(show_pipeline)
    pipelines.command("save", epilog="Example: headgate pipeline save delays.yaml")(save_pipeline)
    pipelines.command("check", epilog="Example: headgate pipeline check delays.yaml")(check_pipeline)
    pipelines.command("show-rows", epilog="Example: headgate pipeline show-rows delays")(show_rows)
    pipelines.command("delete", epilog="Example: headgate pipeline delete delays")(delete_pipeline)
    pipelines.command("run", epilog="Example: headgate pipeline run delays")(run_pipeline)
    pipelines.command(
        "backfill",
        epilog="Example: headgate pipeline backfill delays --since 2013-01-01 --until 2013-02-01 --step P7D --dry-run",
    )(backfill_pipeline)
    pipelines.command("add-stream", epilog="Example: headgate pipeline add-stream crm stream.yaml")(add_stream)
    pipelines.command("enable-stream", epilog="Example: headgate pipeline enable-stream crm flights")(enable_stream)
    pipelines.command("disable-stream", epilog="Example: headgate pipeline disable-stream crm flights")(disable_stream)
    pipelines.command("move-to-cluster", epilog="Example: headgate pipeline move-to-cluster delays big")(
        move_to_cluster
    )
    for verb in STATES:
        _add_state(pipelines, verb)


def list_pipelines(*, output: OutputMode = "table") -> None:
    """Show the pipelines that you may see."""
    columns: dict[str, Any] = {
        "name": "name",
        "kind": "kind",
        "run-as": "run_as",
        "state": lambda each: "running" if each["running"] else each["state"],
    }
    print_items(every("/pipelines"), columns, output)


def show_pipeline(pipeline: PipelineName, *, output: OutputMode = "table") -> None:
    """Show a pipeline. The output has its definition, its run-as principal and its last runs."""
    found = send_request("GET", api_path("pipelines", pipeline))
    if output == "json":
        write_json(found, indent=2)
        return
    run_as = (
        f"runs as {found['run_as']}"
        if found["run_as"]
        else "has no run-as principal, so its runs wait until it is saved again"
    )
    say(f"# {found['kind']} {found['name']}, {found['state']}, {run_as}")
    if found["definition"]:
        say(yaml.safe_dump(_said(found["definition"]), sort_keys=False, allow_unicode=True).rstrip())
    for each in send_request("GET", "/runs", pipeline=found["id"], limit=5)["items"]:
        say(f"# run {each['run']}: {each['state']}{': ' + each['why'] if each['why'] else ''}")


def save_pipeline(
    file: DefinitionFile, *, dry_run: DryRun = False, reason: Reason = "", output: OutputMode = "table"
) -> None:
    """Create a pipeline, or replace its definition. Its runs then use your privileges."""
    name, definition = _read(file)
    path = api_path("pipelines", name)
    write(WriteOptions(dry_run, reason, output), "PUT", path, f"pipeline {name} is saved", body=definition)


def check_pipeline(file: DefinitionFile) -> None:
    """Check a definition without saving it. The command checks that you may save it, and that its SELECT reads what it declares."""
    name, definition = _read(file)
    send_write("PUT", api_path("pipelines", name), body=definition, dry_run=True)
    say(f"{name} can be saved")


def show_rows(pipeline: PipelineName, *, output: OutputMode = "table") -> None:
    """Show the rows of a visualization or a saved query."""
    found = send_request("GET", api_path("pipelines", pipeline, "rows"))
    if output == "json":
        write_json(found, indent=2)
        return
    print_table([column for column, _ in found["columns"]], [[str(value) for value in row] for row in found["rows"]])
    if found["cut"]:
        say("# there are more rows")


def delete_pipeline(
    pipeline: PipelineName, *, dry_run: DryRun = False, reason: Reason = "", output: OutputMode = "table"
) -> None:
    """Delete a pipeline. The tables that it wrote are kept."""
    path = api_path("pipelines", pipeline)
    write(WriteOptions(dry_run, reason, output), "DELETE", path, f"pipeline {pipeline} is deleted")


def run_pipeline(
    pipeline: PipelineName,
    *,
    detach: Detach = False,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Run a pipeline and show its progress. Ctrl-C asks whether to cancel the run. `--output json` implies `--detach`."""
    begin_run(WriteOptions(dry_run, reason, output), api_path("pipelines", pipeline, "runs"), detach=detach)


def backfill_pipeline(
    pipeline: PipelineName,
    since: Annotated[
        str | None, typer.Option("--since", metavar="VALUE", help="the first cursor value (inclusive)")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="VALUE", help="the last cursor value (exclusive)")
    ] = None,
    step: Annotated[
        str | None,
        typer.Option("--step", metavar="SIZE", help="the range of one run: a number, or a duration such as `P1D`"),
    ] = None,
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Run a pipeline again for a range of cursor values. It is one run, or one run for each step of the range."""
    body = {"since": since, "until": until, "step": int(step) if step and step.isdecimal() else step}
    path = api_path("pipelines", pipeline, "backfill")
    answer = send_write("POST", path, body=body, dry_run=dry_run, reason=reason)
    if output == "json":
        write_json(answer, indent=2)
        return
    runs = ["would run"] * len(answer["ranges"]) if dry_run else answer["runs"]
    print_table(
        ("run", "since", "until"),
        [(run, each["since"], each["until"]) for run, each in zip(runs, answer["ranges"], strict=True)],
    )


def add_stream(
    pipeline: PipelineName,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="a YAML file with the definition of the stream; `-` is stdin")
    ],
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Add a stream to a source pipeline."""
    path = api_path("pipelines", pipeline, "streams")
    write(
        WriteOptions(dry_run, reason, output), "POST", path, f"the stream is added to {pipeline}", body=read_yaml(file)
    )


def enable_stream(
    pipeline: PipelineName,
    stream: StreamName,
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Enable a stream of a source pipeline: its next runs load it."""
    path = api_path("pipelines", pipeline, "streams", stream, "enable")
    write(WriteOptions(dry_run, reason, output), "POST", path, f"stream {stream} of {pipeline} is enabled")


def disable_stream(
    pipeline: PipelineName,
    stream: StreamName,
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Disable a stream of a source pipeline: its next runs do not load it."""
    path = api_path("pipelines", pipeline, "streams", stream, "disable")
    write(WriteOptions(dry_run, reason, output), "POST", path, f"stream {stream} of {pipeline} is disabled")


def move_to_cluster(
    pipeline: PipelineName,
    cluster: Annotated[str, typer.Argument(metavar="CLUSTER", help="the cluster, by name or id")],
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Run a pipeline on another cluster from its next run on."""
    path = api_path("resources", pipeline, "move-to-cluster")
    write(
        WriteOptions(dry_run, reason, output), "POST", path, f"{pipeline} runs on {cluster}", body={"cluster": cluster}
    )


def _add_state(pipelines: typer.Typer, verb: str) -> None:
    def change_state(
        pipeline: PipelineName, *, dry_run: DryRun = False, reason: Reason = "", output: OutputMode = "table"
    ) -> None:
        path = api_path("pipelines", pipeline, verb)
        write(WriteOptions(dry_run, reason, output), "POST", path, f"{pipeline}: {verb}")

    pipelines.command(verb, help=STATES[verb], epilog=f"Example: headgate pipeline {verb} delays")(change_state)


def _read(file: Path) -> tuple[str, dict[str, Any]]:
    definition = read_yaml(file)
    name = definition.get("name") if isinstance(definition, dict) else None
    if not isinstance(name, str):
        raise ApiError(
            f"`{file}` is not the definition of a pipeline: it has no `name`; write at least `kind` and `name`"
        )
    return name, definition


def _said(definition: dict[str, Any]) -> dict[str, Any]:
    """Return a definition without its empty fields."""
    return {key: value for key, value in definition.items() if value not in (None, [], {}, "")}
