"""`headgate lineage`: the sources and targets of a table, and the runs as OpenLineage events."""

import json
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from headgate.cli.client import every, send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.errors import ApiError, describe_unwritable
from headgate.cli.options import OutputFile, OutputMode
from headgate.cli.output import print_table, say, write_json

Of = Annotated[str, typer.Argument(metavar="RESOURCE", help="a table by its full name, or a connection by its name")]
Pipeline = Annotated[
    str | None, typer.Option("--pipeline", metavar="PIPELINE", help="show only the runs of this pipeline")
]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    lineage = add_command_group(app, "lineage", "Lineage: what runs of pipelines read and wrote.")
    lineage.command("show", epilog="Example: headgate lineage show lake.raw.flights")(show_lineage)
    lineage.command("export", epilog="Example: headgate lineage export --output-file events.ndjson")(export_lineage)


def show_lineage(of: Of, *, output: OutputMode = "table") -> None:
    """Show the sources and targets of a table or connection. They are those of the newest successful runs."""
    found = send_request("GET", "/lineage", of=of)
    if output == "json":
        write_json(found, indent=2)
        return
    for direction in ("upstream", "downstream"):
        say(f"# {direction} of {found['of']}")
        rows = [
            (each["distance"], each["source"], each["pipeline"], each["target"], _columns(each))
            for each in found[direction]
        ]
        print_table(("distance", "source", "pipeline", "target", "columns"), rows)


def export_lineage(output_file: OutputFile = None, pipeline: Pipeline = None) -> None:
    """Export the runs that you may see as OpenLineage events. Each line is one event."""
    wanted = {"pipeline": pipeline} if pipeline else {}
    lines = (json.dumps(event) for event in every("/lineage/events", **wanted))
    if output_file is None:
        for line in lines:
            say(line)
    else:
        try:
            with output_file.open("w", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in lines)
        except OSError as error:
            raise ApiError(describe_unwritable(output_file, error)) from None


def _columns(step: Mapping[str, Any]) -> str:
    return "; ".join(f"{name} of {', '.join(of)}" for name, of in step["columns"].items())
