"""Giving and taking roles."""

from typing import Annotated

import typer

from headgate.cli.client import every, send_request
from headgate.cli.output import say, table

Role = Annotated[str, typer.Argument(help="a role of the model, for example viewer, editor or manager")]
Place = Annotated[str, typer.Argument(help="a resource: lake.raw, lake.raw.flights, organization, a connection")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("grant")(grant)
    app.command("revoke")(revoke)
    app.command("assignments")(assignments)


def grant(role: Role, resource: Place, to: Annotated[str, typer.Option("--to", help="a person or group")]) -> None:
    """Give a role on a resource."""
    answer = send_request("POST", "/assignments", body={"subject": to, "role": role, "resource": resource})
    say(f"{to} holds {role} on {resource} (revision {answer['revision']})")


def revoke(
    role: Role, resource: Place, subject: Annotated[str, typer.Option("--from", help="a person or group")]
) -> None:
    """Take a role back. Once this has returned, nothing is allowed by it."""
    answer = send_request("DELETE", "/assignments", subject=subject, role=role, resource=resource)
    say(f"{subject} no longer holds {role} on {resource} (revision {answer['revision']})")


def assignments() -> None:
    """Show who holds what on the resources that you may see."""
    found = every("/assignments")
    rows = [(each["subject"], each["role"], each["resource"], each["grantor"]) for each in found]
    table(("subject", "role", "resource", "given by"), rows)
