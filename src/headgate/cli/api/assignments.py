"""`headgate assignment`: the roles that subjects hold on resources."""

from typing import Annotated, Any

import typer

from headgate.cli.client import every, given_fields
from headgate.cli.command_groups import add_command_group
from headgate.cli.options import DryRun, OnlyResource, OutputMode, Reason, ResourceName, RoleName, Subject, Until
from headgate.cli.output import format_time, print_items
from headgate.cli.times import parse_time_option
from headgate.cli.writes import WriteOptions, write

FromRequest = Annotated[
    str,
    typer.Option(
        "--request", metavar="REQUEST", help="the request that created the assignment, if one did, as `list` shows it"
    ),
]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    assignments = add_command_group(app, "assignment", "Assignments of roles on resources to subjects.")
    assignments.command(
        "create", epilog="Example: headgate assignment create viewer lake.raw --subject ann --until +30d"
    )(create_assignment)
    assignments.command(
        "change", epilog="Example: headgate assignment change viewer lake.raw --subject ann --new-role editor"
    )(change_assignment)
    assignments.command("delete", epilog="Example: headgate assignment delete viewer lake.raw --subject ann")(
        delete_assignment
    )
    assignments.command("list", epilog="Example: headgate assignment list --resource lake.raw")(list_assignments)


def create_assignment(
    role: RoleName,
    resource: ResourceName,
    subject: Subject,
    until: Until = None,
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Assign a role on a resource to a subject."""
    fields = {"subject": subject, "role": role, "resource": resource, "ends": parse_time_option(until)}
    done = f"{subject} holds {role} on {resource}"
    write(WriteOptions(dry_run, reason, output), "POST", "/assignments", done, body=given_fields(fields))


def change_assignment(
    role: RoleName,
    resource: ResourceName,
    subject: Subject,
    new_role: Annotated[str, typer.Option("--new-role", metavar="ROLE", help="the role that replaces the other one")],
    request: FromRequest = "",
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Replace the role of a subject on a resource. The dates of the assignment stay as they are."""
    write(
        WriteOptions(dry_run, reason, output),
        "PATCH",
        "/assignments",
        f"{subject} holds {new_role} on {resource}",
        body={"role": new_role},
        query=_named(role, resource, subject, request),
    )


def delete_assignment(
    role: RoleName,
    resource: ResourceName,
    subject: Subject,
    request: FromRequest = "",
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Revoke a role on a resource from a subject. The revocation is in force when the command returns."""
    done = f"{subject} no longer holds {role} on {resource}"
    write(
        WriteOptions(dry_run, reason, output),
        "DELETE",
        "/assignments",
        done,
        query=_named(role, resource, subject, request),
    )


def list_assignments(
    resource: OnlyResource = None,
    subject: Annotated[
        str | None, typer.Option("--subject", metavar="SUBJECT", help="show only assignments to this subject")
    ] = None,
    *,
    output: OutputMode = "table",
) -> None:
    """Show the assignments on the resources that you may see."""
    columns: dict[str, Any] = {
        "subject": "subject",
        "role": "role",
        "resource": "resource",
        "assigned by": "grantor",
        "ends": lambda each: format_time(each["ends"]),
        "request": "reason",
    }
    print_items(every("/assignments", resource=resource, subject=subject), columns, output)


def _named(role: str, resource: str, subject: str, request: str) -> dict[str, str]:
    """Return the query that names an assignment."""
    return {"subject": subject, "role": role, "resource": resource, "reason": request}
