"""`headgate service-principal`: programs that act in the organization."""

from typing import Annotated

import typer

from headgate.cli.client import api_path, every, format_revision, given_fields, send_request
from headgate.cli.output import say, table, when

Name = Annotated[str, typer.Argument(help="the name, or the id")]
Role = Annotated[str | None, typer.Option(help="a role on the organization")]
Place = Annotated[str | None, typer.Option(help="where it belongs, if not to the organization")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    programs = typer.Typer(help="Programs that act here, by tokens of their own.", no_args_is_help=True)
    programs.command("list")(list_service_principals)
    programs.command("create")(create_service_principal)
    programs.command("delete")(delete_service_principal)
    app.add_typer(programs, name="service-principal")


def list_service_principals() -> None:
    """Show the programs that you may know of."""
    table(("name", "ends"), [(each["name"], when(each["ends"])) for each in every("/service-principals")])


def create_service_principal(
    name: Name,
    role: Role = None,
    scope: Annotated[str | None, typer.Option(help="a scope of the model, instead of a role")] = None,
    place: Place = None,
) -> None:
    """Add a program."""
    said = {"name": name, "role": role, "scope": scope, "place": place}
    say(
        f"service principal {name} ({format_revision(send_request('POST', '/service-principals', body=given_fields(said)))})"
    )


def delete_service_principal(name: Name) -> None:
    """End a program, with its tokens."""
    say(f"{name} is gone ({format_revision(send_request('DELETE', api_path('service-principals', name)))})")
