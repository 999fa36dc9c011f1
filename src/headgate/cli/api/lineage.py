"""`headgate lineage`: what a table came of and what came of it, and the runs as OpenLineage events."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from headgate.cli.client import every, send_request
from headgate.cli.output import say, table

Of = Annotated[str, typer.Argument(help="a table by its full name, or a connection")]
Out = Annotated[Path | None, typer.Option(help="write to this file instead of the terminal")]
Only = Annotated[str | None, typer.Option(help="only the runs of this pipeline")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    lineage = typer.Typer(help="What came of what, as runs really read and wrote it.", no_args_is_help=True)
    lineage.command("show")(show)
    lineage.command("export")(export)
    app.add_typer(lineage, name="lineage")


def show(of: Of) -> None:
    """Show what a table came of, and what came of it, by the newest runs that succeeded."""
    found = send_request("GET", "/lineage", of=of)
    for direction in ("upstream", "downstream"):
        say(f"# {direction} of {found['of']}")
        rows = [
            (each["distance"], each["source"], each["pipeline"], each["target"], _columns(each))
            for each in found[direction]
        ]
        table(("distance", "from", "by", "into", "columns"), rows)


def export(out: Out = None, pipeline: Only = None) -> None:
    """Write every run that you may see as OpenLineage events, one on each line."""
    wanted = {"pipeline": pipeline} if pipeline else {}
    lines = (json.dumps(event) for event in every("/lineage/events", **wanted))
    if out is None:
        for line in lines:
            say(line)
    else:
        with out.open("w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)


def _columns(step: Mapping[str, Any]) -> str:
    return "; ".join(f"{name} of {', '.join(of)}" for name, of in step["columns"].items())
