"""`headgate change-request`: proposed changes of resources, and the decisions on them."""

from pathlib import Path
from typing import Annotated, Any

import typer

from headgate.cli.client import ApiError, api_path, every, send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.options import DryRun, OnlyResource, OnlyState, OutputMode, Reason, ResourceName
from headgate.cli.output import note, print_item, print_items
from headgate.cli.writes import WriteOptions, write
from headgate.cli.yaml_files import read_yaml

ChangeRequest = Annotated[
    str,
    typer.Argument(
        metavar="CHANGE-REQUEST", help="the id of the change request; `headgate change-request list` shows it"
    ),
]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    requests = add_command_group(app, "change-request", "Change requests: changes of resources that need an approval.")
    requests.command(
        "create",
        epilog='Example: headgate change-request create orders --description "all orders" --reason "it had none"',
    )(create_change_request)
    requests.command("list", epilog="Example: headgate change-request list --state requested")(list_change_requests)
    requests.command("show", epilog="Example: headgate change-request show cr_1")(show_change_request)
    requests.command("approve", epilog="Example: headgate change-request approve cr_1")(approve_change_request)
    requests.command("reject", epilog="Example: headgate change-request reject cr_1")(reject_change_request)


def create_change_request(
    resource: ResourceName,
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="the new name")] = None,
    parent: Annotated[str | None, typer.Option("--parent", metavar="RESOURCE", help="the new parent")] = None,
    description: Annotated[
        str | None, typer.Option("--description", metavar="TEXT", help="the new description")
    ] = None,
    change_file: Annotated[
        Path | None,
        typer.Option(
            "--change-file",
            metavar="FILE",
            help="a YAML or JSON file with the change, as the body of `POST /api/v1/change-requests` has it, for example `attributes`",
        ),
    ] = None,
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Propose a change of a resource. The approvers see the text of `--reason`."""
    given: dict[str, Any] = {"name": name, "parent": parent, "description": description}
    change = {key: value for key, value in given.items() if value is not None}
    body = {**(_read_change(change_file) if change_file else {}), **change}
    if not body:
        raise ApiError("there is no change; pass `--name`, `--parent`, `--description` or `--change-file`")
    answer = write(
        WriteOptions(dry_run, reason, output),
        "POST",
        "/change-requests",
        lambda made: f"change request {made['id']} is created",
        body={**body, "resource": resource, **({"why": reason} if reason else {})},
    )
    if answer is not None and output == "table":
        note("next: `headgate change-request list` shows whether it is approved")


def list_change_requests(
    resource: OnlyResource = None, state: OnlyState = None, *, output: OutputMode = "table"
) -> None:
    """Show the change requests that you may see."""
    columns = {"id": "id", "state": "state", "resource": "resource_name", "author": "author"}
    print_items(every("/change-requests", resource=resource, state=state), columns, output)


def show_change_request(change_request: ChangeRequest, *, output: OutputMode = "table") -> None:
    """Show a change request with its proposed change."""
    found = send_request("GET", api_path("change-requests", change_request))
    lines = {
        "id": found["id"],
        "state": found["state"],
        "resource": found["resource_name"],
        "author": found["author"],
        "reason": found["why"],
        **{f"new {name}": value for name, value in found["change"].items()},
    }
    print_item(found, lines, output)


def approve_change_request(
    change_request: ChangeRequest, *, dry_run: DryRun = False, reason: Reason = "", output: OutputMode = "table"
) -> None:
    """Approve a change request and make its change."""
    _decide(change_request, "approve", "approved, and the change is made", WriteOptions(dry_run, reason, output))


def reject_change_request(
    change_request: ChangeRequest, *, dry_run: DryRun = False, reason: Reason = "", output: OutputMode = "table"
) -> None:
    """Reject a change request."""
    _decide(change_request, "reject", "rejected", WriteOptions(dry_run, reason, output))


def _decide(request: str, verb: str, done: str, options: WriteOptions) -> None:
    write(options, "POST", api_path("change-requests", request, verb), f"change request {request} is {done}")


def _read_change(file: Path) -> dict[str, Any]:
    found = read_yaml(file)
    if not isinstance(found, dict):
        raise ApiError(f"`{file}` is not a change: it has no fields; write at least one, for example `attributes`")
    return found
