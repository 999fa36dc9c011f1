"""`headgate service-principal`: programs that act in the organization."""

from typing import Annotated

import typer

from headgate.cli.client import ApiError, api_path, every, given_fields, send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.completion import complete_service_principal
from headgate.cli.options import DryRun, HomeResource, NewName, OutputMode, Reason, Until
from headgate.cli.output import format_time, print_item, print_items
from headgate.cli.principal_lines import lines_of_principal
from headgate.cli.times import parse_time_option
from headgate.cli.writes import WriteOptions, write

Program = Annotated[
    str,
    typer.Argument(
        metavar="SERVICE-PRINCIPAL",
        autocompletion=complete_service_principal,
        help="the service principal, by name or id",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    programs = add_command_group(app, "service-principal", "Service principals: programs with tokens of their own.")
    programs.command("list", epilog="Example: headgate service-principal list")(list_service_principals)
    programs.command("create", epilog="Example: headgate service-principal create loader --role member")(
        create_service_principal
    )
    programs.command("show", epilog="Example: headgate service-principal show loader")(show_service_principal)
    programs.command("change", epilog="Example: headgate service-principal change loader --until +90d")(
        change_service_principal
    )
    programs.command("delete", epilog="Example: headgate service-principal delete loader")(delete_service_principal)


def list_service_principals(*, output: OutputMode = "table") -> None:
    """Show the service principals that you may see."""
    print_items(
        every("/service-principals"), {"name": "name", "expires": lambda each: format_time(each["ends"])}, output
    )


def create_service_principal(
    name: NewName,
    role: Annotated[
        str | None, typer.Option("--role", metavar="ROLE", help="the role of the service principal on the organization")
    ] = None,
    scope: Annotated[
        str | None, typer.Option("--scope", metavar="SCOPE", help="a scope of the access model, in place of a role")
    ] = None,
    resource: HomeResource = None,
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Create a service principal. `headgate token create --principal NAME` creates a token for it."""
    fields = {"name": name, "role": role, "scope": scope, "place": resource}
    done = f"service principal {name} is created"
    write(WriteOptions(dry_run, reason, output), "POST", "/service-principals", done, body=given_fields(fields))


def show_service_principal(service_principal: Program, *, output: OutputMode = "table") -> None:
    """Show a service principal with its groups and the roles that it holds."""
    found = send_request("GET", api_path("service-principals", service_principal))
    print_item(found, {**lines_of_principal(found), "expires": format_time(found["ends"])}, output)


def change_service_principal(
    service_principal: Program,
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="the new name")] = None,
    until: Until = None,
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Change the name or the end of a service principal. What is left out stays as it is."""
    body = given_fields({"name": name, "ends": parse_time_option(until)})
    if not body:
        raise ApiError("there is no change; pass `--name` or `--until`")
    path = api_path("service-principals", service_principal)
    write(
        WriteOptions(dry_run, reason, output),
        "PATCH",
        path,
        f"service principal {service_principal} is changed",
        body=body,
    )


def delete_service_principal(
    service_principal: Program, *, dry_run: DryRun = False, reason: Reason = "", output: OutputMode = "table"
) -> None:
    """Delete a service principal and its tokens."""
    path = api_path("service-principals", service_principal)
    write(WriteOptions(dry_run, reason, output), "DELETE", path, f"{service_principal} is deleted")
