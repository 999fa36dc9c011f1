"""`headgate access`: questions about access, which the server answers."""

import sys
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from headgate.cli.client import ApiError, api_path, every, pages, send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.options import AboutPrincipal, ActionName, OutputMode, ResourceName
from headgate.cli.output import format_end, print_items, say, write_json
from headgate.cli.writes import print_effects
from headgate.cli.yaml_files import read_yaml


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    access = add_command_group(app, "access", "Questions about access, which the server answers.")
    access.command("explain", epilog="Example: headgate access explain table.select lake.raw.flights --principal ann")(
        explain_access
    )
    access.command("check", epilog="Example: headgate access check table.select lake.raw.flights")(check_access)
    access.command("list-principals", epilog="Example: headgate access list-principals table.select lake.raw.flights")(
        list_principals
    )
    access.command("list-resources", epilog="Example: headgate access list-resources table.select --principal ann")(
        list_resources
    )
    access.command("what-if", epilog="Example: headgate access what-if steps.yaml")(show_impact)


OfRole = Annotated[
    str | None, typer.Option("--role", metavar="ROLE", help="the role, for a question about an assignment")
]
OfSubject = Annotated[
    str | None,
    typer.Option(
        "--subject",
        metavar="SUBJECT",
        help="the subject of the assignment, by name or id: a user, group, team or another",
    ),
]
NewRole = Annotated[
    str | None, typer.Option("--new-role", metavar="ROLE", help="the role that replaces the one of `--role`")
]

_ASSIGNMENT = "assignment."


def explain_access(
    action: ActionName,
    resource: ResourceName,
    principal: AboutPrincipal = None,
    *,
    role: OfRole = None,
    subject: OfSubject = None,
    new_role: NewRole = None,
    output: OutputMode = "table",
) -> None:
    """Explain why an action is allowed or denied. For a denied action it shows the assignments that would allow it."""
    question = {"action": action, "resource": resource, "subject": principal}
    answer = send_request(
        "POST", "/questions/explain", body=question | _build_properties(action, role, subject, new_role)
    )
    if not answer["allowed"]:
        _require_fitting(action, resource)
    if output == "json":
        write_json(answer, indent=2)
        return
    for line in answered(answer, principal or "you"):
        say(line)


def check_access(
    action: ActionName,
    resource: ResourceName,
    principal: AboutPrincipal = None,
    *,
    role: OfRole = None,
    subject: OfSubject = None,
    new_role: NewRole = None,
    output: OutputMode = "table",
) -> None:
    """Check whether an action is allowed. The exit code is 0 for allow, 1 for deny or an error."""
    question = {"action": action, "resource": resource, "subject": principal}
    answer = send_request("POST", "/questions", body=question | _build_properties(action, role, subject, new_role))
    if output == "json":
        write_json(answer, indent=2)
    else:
        if not answer["allowed"]:
            _require_known(action)
        say(_verdict(answer))
    sys.exit(0 if answer["allowed"] else 1)


def list_principals(action: ActionName, resource: ResourceName, *, output: OutputMode = "table") -> None:
    """Show the principals that may do an action on a resource."""
    body = {"action": action, "resource": resource}
    columns = {"name": "name", "kind": "kind"}
    found = list(every("/questions/who", method="POST", body=body))
    if not found:
        _require_fitting(action, resource)
    print_items(found, columns, output)


def list_resources(action: ActionName, principal: AboutPrincipal = None, *, output: OutputMode = "table") -> None:
    """Show the resources on which you, or another principal, may do an action."""
    body = {"action": action, "subject": principal}
    found = list(every("/questions/which", method="POST", body=body))
    if not found:
        _require_known(action)
    print_items(found, {"name": "name", "type": "type"}, output)


def show_impact(
    steps_file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="a YAML or JSON file with a list of steps, as `POST /api/v1/questions/what-if` has them, for example "
            "`- assign: {subject: ann, role: viewer, resource: lake.raw}`; `-` is stdin",
        ),
    ],
    *,
    output: OutputMode = "table",
) -> None:
    """Show the effect of hypothetical steps: the actions that principals lose and gain. Nothing is changed."""
    body = {"steps": read_yaml(steps_file)}
    found = list(pages("/questions/what-if", method="POST", body=body))
    effects, pipelines = [each for page in found for each in page["items"]], found[-1]["pipelines"]
    if output == "json":
        write_json({"effects": effects, "pipelines": pipelines}, indent=2)
    else:
        print_effects(effects, pipelines)


def _build_properties(
    action: str, role: str | None, subject: str | None, new_role: str | None
) -> dict[str, dict[str, str]]:
    """Return the `properties` of a question about an assignment, and nothing for another question.

    Raises `ApiError` for options that do not fit the action.
    """
    given = {"role": role, "to": subject, "new_role": new_role}
    found = {key: value for key, value in given.items() if value is not None}
    if not action.startswith(_ASSIGNMENT):
        if found:
            raise ApiError(
                f"`--role`, `--subject` and `--new-role` are for questions about assignments, and `{action}` is none; "
                "leave these options out"
            )
        return {}
    if role is None:
        raise ApiError(f"`{action}` needs the role of the assignment; pass it with `--role`")
    return {"properties": found}


def answered(answer: dict[str, Any], who: str = "you") -> list[str]:
    """Return an explanation as lines of text; `who` is its subject: `you`, or the name of a principal."""
    lines = [_verdict(answer)]
    for path in answer["because"]:
        through = f", limited by {path['weakest']}, where the role is weakest" if path["weakest"] else ""
        end = f", {format_end(path['ends'])}" if path["ends"] is not None else ""
        lines.append(f"  {path['subject']} was assigned {path['assigned']} on {path['on']}{through}{end}")
    if answer["missing"]:
        lines.append(f"  {_lacking(answer, who)}")
    lines += [f"  it would be allowed with {fix_text(fix)}" for fix in answer["fixes"]]
    return lines


def _verdict(answer: dict[str, Any]) -> str:
    verdict = "allowed" if answer["allowed"] else "not allowed"
    return f"{answer['action']} on {answer['resource']} is {verdict} ({answer['model']}, revision {answer['revision']})"


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
    from headgate.model.vocabulary import ASSIGNMENT

    _require_known(action)
    known, found, type = shipped_vocabulary().get(action), _type(resource), action.partition(".")[0]
    types = known.on if known else (type,)
    if found is not None and found not in types and type != ASSIGNMENT:
        raise ApiError(
            f"`{action}` is an action on the type {' or '.join(types)}, but `{resource}` has the type {found}; choose another action or resource"
        )


def _require_known(action: str) -> None:
    """Raise `ApiError` for an action that neither the vocabulary nor a model in force has."""
    from headgate.control.kernel.vocabulary import describe_unknown_action

    unknown = describe_unknown_action(action)
    if unknown and not any(action in actions for actions in _list_actions_in_force(action.partition(".")[0])):
        raise ApiError(unknown)


def _list_actions_in_force(type: str) -> Iterator[Collection[str]]:
    """Yield the actions on a type under each model that is in force."""
    for each in every("/models"):
        if each["in_force"]:
            yield send_request("GET", api_path("models", str(each["name"])))["matrix"].get(type, {})


def _type(resource: str) -> str | None:
    """Return the type of a resource; None if the caller may not see it."""
    with suppress(ApiError):
        return str(send_request("GET", api_path("resources", resource))["type"])
    return None


def fix_text(fix: dict[str, Any]) -> str:
    """Return a fix as text: the changes that would allow the action, each with the principals that can make it."""
    return " and ".join(
        (*map(_assignment_text, fix["assignments"]), *map(_membership_text, fix.get("memberships", ())))
    )


def _assignment_text(needed: dict[str, Any]) -> str:
    to = f" to {needed['subject']}" if needed.get("subject") else ""
    return f"{needed['role']} on {needed['resource']}, which {' or '.join(needed['approvers'])} can assign{to}"


def _membership_text(needed: dict[str, Any]) -> str:
    return f"membership in the group {needed['group']}, to which {' or '.join(needed['approvers'])} can add members"
