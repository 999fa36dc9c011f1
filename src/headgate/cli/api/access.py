"""`headgate access`: the explanation of a decision."""

from contextlib import suppress
from difflib import get_close_matches
from typing import Annotated, Any

import typer

from headgate.cli.client import ApiError, api_path, send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.output import say


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    access = add_command_group(app, "access", "Access to resources, explained by the server.")
    access.command("explain")(explain_access)


def explain_access(
    action: Annotated[str, typer.Argument(help="an action, for example table.select")],
    resource: Annotated[str, typer.Argument(help="a resource, for example lake.raw.flights")],
    principal: Annotated[
        str | None, typer.Option(help="the principal that the decision is about; you if left out")
    ] = None,
) -> None:
    """Explain why an action is allowed or denied. For a denied action it shows the assignments that would allow it."""
    body = {"action": action, "resource": resource, "subject": principal}
    answer = send_request("POST", "/questions/explain", body=body)
    if not answer["allowed"]:
        _require_fitting(action, resource)
    for line in answered(answer, principal or "you"):
        say(line)


def answered(answer: dict[str, Any], who: str = "you") -> list[str]:
    """Return an explanation as lines of text; `who` is its subject: `you`, or the name of a principal."""
    verdict = "allowed" if answer["allowed"] else "not allowed"
    lines = [
        f"{answer['action']} on {answer['resource']} is {verdict} ({answer['model']}, revision {answer['revision']})"
    ]
    for path in answer["because"]:
        through = f", limited by {path['weakest']}, where the role is weakest" if path["weakest"] else ""
        lines.append(f"  {path['subject']} was assigned {path['assigned']} on {path['on']}{through}")
    if answer["missing"]:
        lines.append(f"  {_lacking(answer, who)}")
    lines += [f"  it would be allowed with {fix_text(fix)}" for fix in answer["fixes"]]
    return lines


def _lacking(answer: dict[str, Any], who: str) -> str:
    """Return the reason of a denial as text."""
    from headgate.control.questions.messages import reason_on
    from headgate.decision.types import DenyReason

    named, missing = f"`{answer['resource']}`", answer["missing"]
    if missing["code"] == "no-resource":
        return f"{who} may not see {named}"
    return reason_on(named, DenyReason(missing["code"], None, tuple(missing["roles"]), what=missing["what"]), who)


def _require_fitting(action: str, resource: str) -> None:
    """Raise `ApiError` for an action that does not exist, or that does not apply to resources of this type."""
    from headgate.control.kernel.vocabulary import shipped_vocabulary

    known = shipped_vocabulary()
    if action not in known:
        near = get_close_matches(action, known, 1)
        raise ApiError(f"there is no action `{action}`{f'; did you mean `{near[0]}`?' if near else ''}")
    types, found = known[action].on, _type(resource)
    if found is not None and found not in types:
        raise ApiError(f"`{action}` is an action on the type {' or '.join(types)}; `{resource}` has the type {found}")


def _type(resource: str) -> str | None:
    """Return the type of a resource; None if the caller may not see it."""
    with suppress(ApiError):
        return str(send_request("GET", api_path("resources", resource))["type"])
    return None


def fix_text(fix: dict[str, Any]) -> str:
    """Return a fix as text: the assignments that would allow the action, each with the principals that can make it."""
    return " and ".join(
        f"{each['role']} on {each['resource']}, which {' or '.join(each['approvers'])} can assign"
        for each in fix["assignments"]
    )
