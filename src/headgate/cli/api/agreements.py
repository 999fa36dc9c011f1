"""`headgate agreement`: agreements to read the data of output ports, from the request to the end."""

from typing import Annotated, Any

import typer

from headgate.cli.client import ApiError, api_path, every, given_fields, send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.options import AccessPurpose, DryRun, OnlyState, OutputMode, Reason, Until
from headgate.cli.output import format_time, note, print_item, print_items
from headgate.cli.times import parse_time_option
from headgate.cli.writes import WriteOptions, write

Agreement = Annotated[
    str, typer.Argument(metavar="AGREEMENT", help="the id of the agreement; `headgate agreement list` shows it")
]
Port = Annotated[str, typer.Argument(metavar="PORT", help="an output port of a data product, by name or id")]
Consumer = Annotated[
    str | None,
    typer.Option("--consumer", metavar="SUBJECT", help="the user or team that reads the data; you if left out"),
]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    agreements = add_command_group(app, "agreement", "Agreements to read the data of output ports of data products.")
    agreements.command("create", epilog='Example: headgate agreement create orders.port --purpose "to plan"')(
        create_agreement
    )
    agreements.command("list", epilog="Example: headgate agreement list --state requested")(list_agreements)
    agreements.command("show", epilog="Example: headgate agreement show a_1")(show_agreement)
    agreements.command("approve", epilog="Example: headgate agreement approve a_1 --until +90d")(approve_agreement)
    agreements.command("reject", epilog="Example: headgate agreement reject a_1")(reject_agreement)
    agreements.command("change", epilog="Example: headgate agreement change a_1 --until +90d")(change_agreement)
    agreements.command("terminate", epilog="Example: headgate agreement terminate a_1")(terminate_agreement)
    agreements.command("delete", epilog="Example: headgate agreement delete a_1")(delete_agreement)


def create_agreement(
    port: Port,
    purpose: AccessPurpose,
    consumer: Consumer = None,
    until: Until = None,
    *,
    approved: Annotated[
        bool, typer.Option("--approved", help="create an approved agreement, for which there was no request")
    ] = False,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Request to read the data of an output port. With `--approved`, the agreement is in force at once."""
    if until is not None and not approved:
        raise ApiError(
            "a request for an agreement cannot have an end; leave out `--until` and pass it to `headgate agreement approve`, or add `--approved`"
        )
    fields = {"port": port, "purpose": purpose, "consumer": consumer, "ends": parse_time_option(until)}
    answer = write(
        WriteOptions(dry_run, reason, output),
        "POST",
        "/access/add" if approved else "/access",
        lambda made: f"agreement {made['id']} is {'approved' if approved else 'requested'}",
        body=given_fields(fields),
    )
    if answer is not None and output == "table" and not approved:
        note("next: `headgate agreement list` shows whether it is approved")


def list_agreements(
    port: Annotated[
        str | None, typer.Option("--port", metavar="PORT", help="show only entries about this port")
    ] = None,
    state: OnlyState = None,
    *,
    output: OutputMode = "table",
) -> None:
    """Show the requests and agreements that you may see."""
    columns: dict[str, Any] = {
        "id": "id",
        "state": "state",
        "port": "port_name",
        "consumer": "consumer_name",
        "ends": lambda each: format_time(each["ends"]),
        "purpose": "purpose",
    }
    print_items(every("/access", port=port, state=state), columns, output)


def show_agreement(agreement: Agreement, *, output: OutputMode = "table") -> None:
    """Show a request or agreement."""
    found = send_request("GET", api_path("access", agreement))
    lines = {
        "id": found["id"],
        "state": f"{found['state']}{', in force' if found['active'] else ''}",
        "port": found["port_name"],
        "consumer": found["consumer_name"],
        "author": found["author"],
        "purpose": found["purpose"],
        "starts": format_time(found["starts"]),
        "ends": format_time(found["ends"]),
    }
    print_item(found, lines, output)


def approve_agreement(
    agreement: Agreement,
    until: Until = None,
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Approve a request: the consumer may read the data of the port."""
    write(
        WriteOptions(dry_run, reason, output),
        "POST",
        api_path("access", agreement, "approve"),
        f"agreement {agreement} is approved",
        body=given_fields({"ends": parse_time_option(until)}),
    )


def reject_agreement(
    agreement: Agreement, *, dry_run: DryRun = False, reason: Reason = "", output: OutputMode = "table"
) -> None:
    """Reject a request."""
    path = api_path("access", agreement, "reject")
    write(WriteOptions(dry_run, reason, output), "POST", path, f"agreement {agreement} is rejected")


def change_agreement(
    agreement: Agreement,
    purpose: Annotated[
        str | None, typer.Option("--purpose", metavar="TEXT", help="the new purpose of the access")
    ] = None,
    until: Until = None,
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Change the purpose or the end of a request or agreement. What is left out stays as it is."""
    body = given_fields({"purpose": purpose, "ends": parse_time_option(until)})
    if not body:
        raise ApiError("there is no change; pass `--purpose` or `--until`")
    path = api_path("access", agreement)
    write(WriteOptions(dry_run, reason, output), "PATCH", path, f"agreement {agreement} is changed", body=body)


def terminate_agreement(
    agreement: Agreement, *, dry_run: DryRun = False, reason: Reason = "", output: OutputMode = "table"
) -> None:
    """Terminate an agreement. The access ends at once."""
    path = api_path("access", agreement, "terminate")
    write(WriteOptions(dry_run, reason, output), "POST", path, f"agreement {agreement} is terminated")


def delete_agreement(
    agreement: Agreement, *, dry_run: DryRun = False, reason: Reason = "", output: OutputMode = "table"
) -> None:
    """Delete a request or agreement. The access ends at once."""
    path = api_path("access", agreement)
    write(WriteOptions(dry_run, reason, output), "DELETE", path, f"agreement {agreement} is deleted")
