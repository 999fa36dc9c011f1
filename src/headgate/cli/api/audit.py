"""`headgate audit`: the changes of the organization, and the recorded decisions."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from headgate.cli.client import send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.options import OnlyAction, OnlyResource, OutputMode
from headgate.cli.output import format_time, note, print_items
from headgate.cli.times import parse_time_option

_TIMES = "(ISO 8601, UTC), or an offset from now in days, hours or minutes (d, h, m)"

Since = Annotated[
    str | None,
    typer.Option("--since", metavar="TIME|-7d", help=f"show only entries from this time on {_TIMES}"),
]
Before = Annotated[
    str | None,
    typer.Option("--until", metavar="TIME|-7d", help=f"show only entries before this time {_TIMES}"),
]
Endpoint = Annotated[
    str | None, typer.Option("--endpoint", metavar="NAME", help="show only entries of this endpoint, for example api")
]
Limit = Annotated[int, typer.Option("--limit", metavar="N", help="the most entries to show")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    audit = add_command_group(app, "audit", "The audit: the changes with their reasons, and the recorded decisions.")
    audit.command("list", epilog="Example: headgate audit list --actor ann --since 2026-01-01T00:00:00Z")(list_entries)
    audit.command("list-decisions", epilog="Example: headgate audit list-decisions --principal ann")(list_decisions)


def list_entries(
    actor: Annotated[
        str | None, typer.Option("--actor", metavar="PRINCIPAL", help="show only changes of this principal")
    ] = None,
    resource: OnlyResource = None,
    endpoint: Endpoint = None,
    since: Since = None,
    until: Before = None,
    after: Annotated[
        int, typer.Option("--after", metavar="REVISION", help="show only entries after this revision")
    ] = 0,
    limit: Limit = 100,
    *,
    output: OutputMode = "table",
) -> None:
    """Show the changes, oldest first, each with its actor, endpoint and reason."""
    filters = {
        "actor": actor,
        "resource": resource,
        "door": endpoint,
        "since": parse_time_option(since),
        "until": parse_time_option(until),
    }
    answer = send_request("GET", "/audit", after=after, limit=limit, **filters)
    columns: dict[str, Any] = {
        "revision": "revision",
        "at": lambda each: format_time(each["at"]),
        "actor": lambda each: _named(each, "actor") or "headgate",
        "command": "command",
        "endpoint": "door",
        "reason": "why",
    }
    print_items(answer["items"], columns, output)
    if answer["next"] is not None:
        note(f"there are more entries; `--after {answer['next']}` shows the next")


def list_decisions(
    principal: Annotated[
        str | None, typer.Option("--principal", metavar="PRINCIPAL", help="show only decisions about this principal")
    ] = None,
    action: OnlyAction = None,
    resource: OnlyResource = None,
    endpoint: Endpoint = None,
    since: Since = None,
    until: Before = None,
    limit: Limit = 100,
    *,
    output: OutputMode = "table",
) -> None:
    """Show the denied calls, newest first. If HEADGATE_AUDIT is `all`, every decision is recorded."""
    filters = {"principal": principal, "action": action, "resource": resource, "door": endpoint}
    answer = send_request("GET", "/audit/decisions", limit=limit, since=since, until=until, **filters)
    columns: dict[str, Any] = {
        "at": lambda each: format_time(each["at"]),
        "principal": lambda each: _named(each, "principal"),
        "action": "action",
        "resource": lambda each: _named(each, "resource"),
        "decision": lambda each: "allowed" if each["allowed"] else f"denied: {each['code']}",
        "endpoint": "door",
    }
    print_items(answer["items"], columns, output)
    if answer["next"] is not None:
        note("there are older decisions; `--limit` shows more, and `--until` shows older ones")


def _named(item: Mapping[str, Any], field: str) -> str:
    """Return the name for the id in a field of an entry; the id if it has no name."""
    id = item[field] or ""
    return str(item["names"].get(id, id))
