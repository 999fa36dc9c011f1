"""`headgate service-principal`: programs that act in the organization."""

from typing import Annotated

import typer

from headgate.cli.client import api_path, every, format_revision, given_fields, send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.output import format_time, print_table, say

Name = Annotated[str, typer.Argument(help="the name or id of the service principal")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    programs = add_command_group(app, "service-principal", "Service principals: programs with tokens of their own.")
    programs.command("list")(list_service_principals)
    programs.command("create")(create_service_principal)
    programs.command("delete")(delete_service_principal)


def list_service_principals() -> None:
    """Show the service principals that you may see."""
    print_table(
        ("name", "expires"), [(each["name"], format_time(each["ends"])) for each in every("/service-principals")]
    )


def create_service_principal(
    name: Annotated[str, typer.Argument(help="the name of the new service principal")],
    role: Annotated[str | None, typer.Option(help="the role of the service principal on the organization")] = None,
    scope: Annotated[str | None, typer.Option(help="a scope of the access model, in place of a role")] = None,
    resource: Annotated[
        str | None,
        typer.Option(help="the resource that the service principal belongs to; the organization if left out"),
    ] = None,
) -> None:
    """Create a service principal. `headgate token create --principal NAME` creates a token for it."""
    fields = {"name": name, "role": role, "scope": scope, "place": resource}
    answer = send_request("POST", "/service-principals", body=given_fields(fields))
    say(f"service principal {name} ({format_revision(answer)})")


def delete_service_principal(name: Name) -> None:
    """Delete a service principal and its tokens."""
    say(f"{name} is deleted ({format_revision(send_request('DELETE', api_path('service-principals', name)))})")
