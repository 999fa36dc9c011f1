"""Users, service principals, groups and tokens."""

from typing import Annotated, Any

import typer

from headgate.cli.client import api_path, every, send_request
from headgate.cli.finite_numbers import require_finite
from headgate.cli.output import say, table, when

Name = Annotated[str, typer.Argument(help="the name, or the id")]
Role = Annotated[str | None, typer.Option(help="a role on the organization")]
Place = Annotated[str | None, typer.Option(help="where it belongs, if not to the organization")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    users = typer.Typer(help="Users of the organization.", no_args_is_help=True)
    users.command("list")(list_users)
    users.command("add")(add_user)
    users.command("remove")(remove_user)
    app.add_typer(users, name="user")
    programs = typer.Typer(help="Programs that act here, by tokens of their own.", no_args_is_help=True)
    programs.command("list")(list_service_principals)
    programs.command("create")(create_service_principal)
    programs.command("delete")(delete_service_principal)
    app.add_typer(programs, name="service-principal")
    tokens = typer.Typer(help="API tokens.", no_args_is_help=True)
    tokens.command("list")(list_tokens)
    tokens.command("issue")(issue_token)
    tokens.command("revoke")(revoke_token)
    app.add_typer(tokens, name="token")
    groups = typer.Typer(help="Groups that can be granted to.", no_args_is_help=True)
    groups.command("list")(list_groups)
    groups.command("create")(create_group)
    groups.command("delete")(delete_group)
    groups.command("add")(add_member)
    groups.command("remove")(remove_member)
    app.add_typer(groups, name="group")


def list_users() -> None:
    """Show who is in the organization, as far as you may know."""
    table(("name", "roles"), [(each["name"], ", ".join(each["roles"])) for each in every("/users")])


def add_user(
    name: Name,
    role: Annotated[str, typer.Option(help="a role on the organization, or on the place")] = "member",
    place: Place = None,
) -> None:
    """Add a new user. A user that the deployment has already joins by `headgate invitation`."""
    said = {"name": name, "role": role, "place": place}
    say(f"{name} is in the organization as {role} ({_revision(send_request('POST', '/users', body=_given(said)))})")


def remove_user(name: Name) -> None:
    """Have somebody leave: memberships, assignments and tokens end."""
    say(f"{name} is gone ({_revision(send_request('DELETE', api_path('users', name)))})")


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
    say(f"service principal {name} ({_revision(send_request('POST', '/service-principals', body=_given(said)))})")


def delete_service_principal(name: Name) -> None:
    """End a program, with its tokens."""
    say(f"{name} is gone ({_revision(send_request('DELETE', api_path('service-principals', name)))})")


def list_tokens(
    principal: Annotated[str | None, typer.Option("--of", help="whose; your own if left out")] = None,
) -> None:
    """Show tokens, without their secrets."""
    rows = (
        (each["id"], each["label"], when(each["ends"]), when(each["last_used"]))
        for each in every("/tokens", principal=principal)
    )
    table(("id", "label", "ends", "last used"), list(rows))


def issue_token(
    principal: Annotated[str | None, typer.Option("--for", help="whom it acts as; yourself if left out")] = None,
    label: Annotated[str, typer.Option(help="what it is for")] = "",
    days: Annotated[float | None, typer.Option(callback=require_finite, help="how long it lives")] = None,
    only: Annotated[list[str] | None, typer.Option(help="a resource that it is good for, and no other")] = None,
    action: Annotated[list[str] | None, typer.Option(help="an action that it is good for, and no other")] = None,
    replaces: Annotated[str | None, typer.Option(help="the id of the token that ends by this")] = None,
) -> None:
    """Issue a token. It is shown this once."""
    said = {"principal": principal, "label": label, "days": days, "only": only, "actions": action, "replaces": replaces}
    say(send_request("POST", "/tokens", body=_given(said))["token"])


def revoke_token(id: Annotated[str, typer.Argument(help="the token's id")]) -> None:
    """End a token, at once."""
    say(f"the token has ended ({_revision(send_request('DELETE', api_path('tokens', id)))})")


def list_groups() -> None:
    """Show the groups that you may know of."""
    table(("name", "members"), [(each["name"], each["members"]) for each in every("/groups")])


def create_group(name: Name) -> None:
    """Create an empty group."""
    say(f"group {name} ({_revision(send_request('POST', '/groups', body={'name': name}))})")


def delete_group(name: Name) -> None:
    """Delete a group, with what was assigned to it."""
    say(f"group {name} is gone ({_revision(send_request('DELETE', api_path('groups', name)))})")


def add_member(group: Annotated[str, typer.Argument()], name: Name) -> None:
    """Put somebody into a group."""
    say(f"{name} is in {group} ({_revision(send_request('PUT', api_path('groups', group, 'members', name)))})")


def remove_member(group: Annotated[str, typer.Argument()], name: Name) -> None:
    """Take somebody out of a group."""
    say(f"{name} is out of {group} ({_revision(send_request('DELETE', api_path('groups', group, 'members', name)))})")


def _given(said: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in said.items() if value not in (None, [])}


def _revision(answer: dict[str, Any]) -> str:
    return f"revision {answer['revision']}"
