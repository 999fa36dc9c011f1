"""`headgate assignment`: the roles that subjects hold on resources."""

from typing import Annotated

import typer

from headgate.cli.client import every, format_revision, send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.output import print_table, say

Role = Annotated[str, typer.Argument(help="a role of the model, for example viewer, editor or manager")]
Resource = Annotated[
    str, typer.Argument(help="a resource, for example lake.raw.flights, organization, or a connection")
]
Subject = Annotated[str, typer.Option("--subject", help="the principal or group that holds the role")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    assignments = add_command_group(app, "assignment", "Assignments of roles on resources to subjects.")
    assignments.command("create")(create_assignment)
    assignments.command("delete")(delete_assignment)
    assignments.command("list")(list_assignments)


def create_assignment(role: Role, resource: Resource, subject: Subject) -> None:
    """Assign a role on a resource to a subject."""
    body = {"subject": subject, "role": role, "resource": resource}
    answer = send_request("POST", "/assignments", body=body)
    say(f"{subject} holds {role} on {resource} ({format_revision(answer)})")


def delete_assignment(role: Role, resource: Resource, subject: Subject) -> None:
    """Revoke a role on a resource from a subject. The revocation is in force when the command returns."""
    answer = send_request("DELETE", "/assignments", subject=subject, role=role, resource=resource)
    say(f"{subject} no longer holds {role} on {resource} ({format_revision(answer)})")


def list_assignments() -> None:
    """Show the assignments on the resources that you may see."""
    found = every("/assignments")
    rows = [(each["subject"], each["role"], each["resource"], each["grantor"]) for each in found]
    print_table(("subject", "role", "resource", "assigned by"), rows)
