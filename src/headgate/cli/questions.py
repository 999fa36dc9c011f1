"""Ask why, who one is, and whether it runs."""

from typing import Annotated, Any

import typer

from headgate.cli.api import call
from headgate.cli.output import say, table


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("why")(why)
    app.command("me")(me)
    app.command("status")(status)


def why(
    action: Annotated[str, typer.Argument(help="for example table.select")],
    resource: Annotated[str, typer.Argument(help="for example lake.raw.flights")],
    subject: Annotated[str | None, typer.Option("--for", help="somebody else, if you may ask about others")] = None,
) -> None:
    """Say whether something is allowed, by which path, and what would change it."""
    body = {"action": action, "resource": resource, "subject": subject}
    for line in answered(call("POST", "/questions/explain", body=body)):
        say(line)


def answered(answer: dict[str, Any]) -> list[str]:
    """Return an answer in lines."""
    verdict = "allowed" if answer["allowed"] else "not allowed"
    lines = [
        f"{answer['action']} on {answer['resource']} is {verdict} ({answer['model']}, revision {answer['revision']})"
    ]
    for path in answer["because"]:
        through = f", decided by {path['weakest']}, the weakest it touches" if path["weakest"] else ""
        lines.append(f"  {path['subject']} was assigned {path['assigned']} on {path['on']}{through}")
    lines += [f"  it would be with {written(fix)}" for fix in answer["fixes"]]
    return lines


def written(fix: dict[str, Any]) -> str:
    """Return a fix in words."""
    return " and ".join(
        f"{each['role']} on {each['resource']}, given by {' or '.join(each['approvers'])}"
        for each in fix["assignments"]
    )


def me() -> None:
    """Say who you are and what you were assigned."""
    answer = call("GET", "/me")
    say(f"{answer['name']} (revision {answer['revision']})")
    table(("role", "resource"), [(each["role"], each["resource"]) for each in answer["roles"]])


def status() -> None:
    """Say whether the API and Spark answer."""
    answer = call("GET", "/health")
    say(f"api {answer['api']}, spark {answer['spark']} at sc://localhost:{answer['spark_port']}")
