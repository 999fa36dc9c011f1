"""People, tokens and groups."""

from typing import Annotated

import typer

from headgate.cli.api import call
from headgate.cli.output import say, table

Name = Annotated[str, typer.Argument(help="the name")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    people = typer.Typer(help="Users and service principals.", no_args_is_help=True)
    people.command("list")(list_people)
    people.command("add")(add_person)
    people.command("remove")(remove_person)
    app.add_typer(people, name="people")
    tokens = typer.Typer(help="API tokens.", no_args_is_help=True)
    tokens.command("list")(list_tokens)
    tokens.command("issue")(issue_token)
    tokens.command("revoke")(revoke_token)
    app.add_typer(tokens, name="token")
    groups = typer.Typer(help="Groups that can be granted to.", no_args_is_help=True)
    groups.command("create")(create_group)
    groups.command("add")(add_member)
    groups.command("remove")(remove_member)
    app.add_typer(groups, name="group")


def list_people() -> None:
    """Show who is in the organization."""
    found = call("GET", "/people")
    table(("name", "kind", "roles"), [(each["name"], each["kind"], ", ".join(each["roles"])) for each in found])


def add_person(
    name: Name,
    role: Annotated[str, typer.Option(help="owner, admin or member of the organization")] = "member",
    kind: Annotated[str, typer.Option(help="user or service_principal")] = "user",
) -> None:
    """Add somebody."""
    answer = call("POST", "/people", body={"name": name, "role": role, "kind": kind})
    say(f"{name} is in the organization as {role} (revision {answer['revision']})")


def remove_person(name: Name) -> None:
    """Somebody leaves: memberships, assignments and tokens end."""
    say(f"{name} is gone (revision {call('DELETE', f'/people/{name}')['revision']})")


def list_tokens() -> None:
    """Show your own tokens."""
    table(("id", "label", "ends"), [(each["id"], each["label"], each["ends"]) for each in call("GET", "/tokens")])


def issue_token(
    person: Annotated[str | None, typer.Option("--for", help="whom it acts as; yourself if left out")] = None,
    label: Annotated[str, typer.Option(help="what it is for")] = "",
    days: Annotated[float | None, typer.Option(help="how long it lives")] = None,
) -> None:
    """Issue a token. It is shown this once."""
    say(call("POST", "/tokens", body={"person": person, "label": label, "days": days})["token"])


def revoke_token(id: Annotated[str, typer.Argument(help="the token's id")]) -> None:
    """End a token, at once."""
    say(f"the token has ended (revision {call('DELETE', f'/tokens/{id}')['revision']})")


def create_group(name: Name) -> None:
    """Create an empty group."""
    say(f"group {name} (revision {call('POST', '/groups', body={'name': name})['revision']})")


def add_member(group: Annotated[str, typer.Argument()], name: Name) -> None:
    """Put somebody into a group."""
    say(f"{name} is in {group} (revision {call('PUT', f'/groups/{group}/members/{name}')['revision']})")


def remove_member(group: Annotated[str, typer.Argument()], name: Name) -> None:
    """Take somebody out of a group."""
    say(f"{name} is out of {group} (revision {call('DELETE', f'/groups/{group}/members/{name}')['revision']})")
