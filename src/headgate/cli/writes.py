"""Writes over the API: the options that they share, and the output of their results and of dry runs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from headgate.cli.client import ApiError, api_path, format_revision, send_request, send_write
from headgate.cli.output import OutputFormat, format_end, note, print_table, say, write_json

Answer = dict[str, Any]

_NAMES = 3
"""The most names in a cell of the table of effects; JSON has them all."""
NOTHING_CREATED: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The options of a write: whether it is a dry run, its reason for the audit, and the format of its output."""

    dry_run: bool
    reason: str
    output: OutputFormat


def write(
    options: WriteOptions,
    method: str,
    path: str,
    done: str | Callable[[Answer], str],
    *,
    body: Any = None,
    query: Mapping[str, Any] | None = None,
) -> Answer | None:
    """Send a write and print its result; return the response, or None for a dry run.

    `done` is the result as a sentence, which is printed with the revision, or a function that makes the whole line from the
    response. Raises `ApiError` with the text of the problem.
    """
    answer = send_write(method, path, body=body, dry_run=options.dry_run, reason=options.reason, query=query)
    if options.output == "json":
        write_json(answer, indent=2)
    elif options.dry_run:
        effects, changes = answer.get("effects") or [], answer.get("changes") or []
        created = {each["resource"]: each["name"] for each in changes if each["change"] == "ResourceCreated"}
        print_effects(effects, answer.get("pipelines") or [], created)
        if more := answer.get("more_effects"):
            say(f"{more} more effects are not shown")
        for line in _describe_assignments(changes, {each["principal"]: each["name"] for each in effects}, created):
            say(line)
        count = f"{len(changes)} {'change' if len(changes) == 1 else 'changes'}"
        say(f"dry run: nothing was changed; {count} would be made")
    else:
        say(f"{done} ({format_revision(answer)})" if isinstance(done, str) else done(answer))
        if "warning" in answer:
            note(f"warning: {answer['warning']}")
    return None if options.dry_run else answer


def print_effects(
    effects: Sequence[Mapping[str, Any]],
    pipelines: Sequence[Mapping[str, Any]],
    created: Mapping[str, str] = NOTHING_CREATED,
) -> None:
    """Print which actions principals would lose and gain, and which pipelines would break or open.

    `created` has the names, by id, of resources that do not exist yet.
    """
    if effects:
        print_table(("principal", "resource", "loses", "gains"), list(_rows(effects, created)))
    if pipelines:
        rows = [(_resource_name(each["pipeline"], created), _effect(each)) for each in pipelines]
        print_table(("pipeline", "effect"), rows)
    if not (effects or pipelines):
        say("no decision would change")


def _describe_assignments(
    changes: Sequence[Mapping[str, Any]], subjects: Mapping[str, str], created: Mapping[str, str]
) -> Iterator[str]:
    """Yield a line for each assignment among the changes of a dry run; `subjects` has names of principals by id."""
    for each in changes:
        if each["change"] == "RoleAssigned":
            place, subject = _resource_name(each["resource"], created), subjects.get(each["subject"], each["subject"])
            yield f"would be assigned: {each['role']} on {place} to {subject} {format_end(each['ends'])}"


def _rows(effects: Sequence[Mapping[str, Any]], created: Mapping[str, str]) -> Iterator[Sequence[str]]:
    """Yield one row for all resources on which a principal loses and gains the same actions."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for each in effects:
        key = (each["name"], _actions(each["lost"]), _actions(each["gained"]))
        alike.setdefault(key, []).append(each["resource"])
    for (name, lost, gained), resources in alike.items():
        rest = len(resources) - _NAMES
        named = ", ".join(_resource_name(each, created) for each in resources[:_NAMES])
        yield name, f"{named}{f' and {rest} more' if rest > 0 else ''}", lost, gained


def _actions(abilities: Sequence[Mapping[str, Any]]) -> str:
    """Return actions as text; an action on assignments is followed by the role that can be assigned."""
    return ", ".join(" ".join(filter(None, (each["action"], each.get("role")))) for each in abilities)


def _effect(pipeline: Mapping[str, Any]) -> str:
    return " and ".join(word for word in ("breaks", "opens") if pipeline[word])


def _resource_name(id: str, created: Mapping[str, str]) -> str:
    """Return the name of a resource; its id if the caller may not see it."""
    return created.get(id) or _existing_name(id)


@cache
def _existing_name(id: str) -> str:
    with suppress(ApiError):
        return str(send_request("GET", api_path("resources", id))["name"])
    return id
