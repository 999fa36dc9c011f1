"""`headgate request`: requests of access to a resource, and the decisions on them."""

from contextlib import suppress
from typing import Annotated, Any

import typer

from headgate.cli.api.access import fix_text
from headgate.cli.client import ApiError, api_path, every, given_fields, send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.options import (
    AccessPurpose,
    ActionName,
    DryRun,
    OnlyAction,
    OnlyResource,
    OutputMode,
    Reason,
    ResourceName,
    Until,
)
from headgate.cli.output import format_end, note, print_item, print_items
from headgate.cli.times import parse_time_option
from headgate.cli.writes import WriteOptions, write

Request = Annotated[
    str, typer.Argument(metavar="REQUEST", help="the id of the request; `headgate request list` shows it")
]

_FIELDS = ("id", "state", "action", "resource", "author", "purpose")


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    requests = add_command_group(app, "request", "Requests of access: an action on a resource, for a purpose.")
    requests.command(
        "create", epilog='Example: headgate request create table.select lake.raw.flights --purpose "to plan routes"'
    )(create_request)
    requests.command("list", epilog="Example: headgate request list --waiting")(list_requests)
    requests.command("show", epilog="Example: headgate request show q_1")(show_request)
    requests.command("approve", epilog="Example: headgate request approve q_1 --until +30d")(approve_request)
    requests.command("reject", epilog="Example: headgate request reject q_1")(reject_request)


def create_request(
    action: ActionName,
    resource: ResourceName,
    purpose: AccessPurpose,
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Request access to a resource. The output names the users that can approve the request, if you may see the resource."""
    options = WriteOptions(dry_run, reason, output)
    body = {"action": action, "resource": resource, "purpose": purpose}
    answer = write(options, "POST", "/requests", lambda made: f"request {made['id']} is created", body=body)
    if answer is not None and output == "table":
        _note_fixes(action, resource)
        note("next: `headgate request list` shows whether it is approved")


def list_requests(
    action: OnlyAction = None,
    resource: OnlyResource = None,
    *,
    own: Annotated[bool, typer.Option("--own", help="show only the requests that you created")] = False,
    waiting: Annotated[bool, typer.Option("--waiting", help="show only the requests that you could approve")] = False,
    output: OutputMode = "table",
) -> None:
    """Show the requests that you created or could approve."""
    found = every("/requests", action=action, resource=resource)
    rows = (each for each in found if (not own or each["own"]) and (not waiting or each["waiting"]))
    print_items(rows, dict(zip(_FIELDS, _FIELDS, strict=True)), output)


def show_request(request: Request, *, output: OutputMode = "table") -> None:
    """Show a request that you created or could approve."""
    found = send_request("GET", api_path("requests", request))
    waits = {"waits for": "your approval"} if found["waiting"] else {}
    print_item(found, {**{name: found[name] for name in _FIELDS}, **waits}, output)


def approve_request(
    request: Request,
    until: Until = None,
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Approve a request. It creates those of the missing assignments that you may create."""
    # Asked before: an approved request is no longer shown to its approvers, and its id can be the reason of other assignments.
    author = None if dry_run or output == "json" else _author(request)
    earlier = _assignments_for(request, author) if author else {}
    answer = write(
        WriteOptions(dry_run, reason, output),
        "POST",
        api_path("requests", request, "approve"),
        f"your approval of request {request} is recorded: the missing assignments that you may create are created",
        body=given_fields({"ends": parse_time_option(until)}),
    )
    if answer is not None and author is not None:
        now = _assignments_for(request, author)
        for each in (made for id, made in now.items() if id not in earlier):
            note(f"{each['subject']} holds {each['role']} on {each['resource']} {format_end(each['ends'])}")


def reject_request(
    request: Request, *, dry_run: DryRun = False, reason: Reason = "", output: OutputMode = "table"
) -> None:
    """Reject a request, or withdraw one of your own."""
    options = WriteOptions(dry_run, reason, output)
    write(options, "POST", api_path("requests", request, "reject"), f"request {request} is rejected")


def _author(request: str) -> str | None:
    """Return the author of a request; None if the caller may not see the request."""
    with suppress(ApiError):
        return str(send_request("GET", api_path("requests", request))["author"])
    return None


def _assignments_for(request: str, author: str) -> dict[str, dict[str, Any]]:
    """Return the assignments for a request that the caller may see, by id; none if they cannot be listed."""
    with suppress(ApiError):
        return {each["id"]: each for each in every("/assignments", subject=author) if each["reason"] == request}
    return {}


def _note_fixes(action: str, resource: str) -> None:
    """Print the assignments that would allow the action, and the users that can make them, if the caller may see the resource."""
    try:
        found = send_request("POST", "/questions/explain", body={"action": action, "resource": resource})
    except ApiError:
        return
    for fix in found["fixes"]:
        note(f"it can be approved with {fix_text(fix)}")
    if (found["missing"] or {}).get("code") == "unknown-action":
        note(f"warning: no user can approve it, because the access model does not define `{action}` on `{resource}`")
