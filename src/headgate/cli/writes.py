"""Writes over the API: the options that they share, and the output of their results and of dry runs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from headgate.cli.client import ApiError, api_path, format_revision, send_request, send_write
from headgate.cli.output import OutputFormat, note, print_table, say, write_json

Answer = dict[str, Any]

_NAMES = 3
"""The most names in a cell of the table of effects; JSON has them all."""


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
        print_effects(answer.get("effects") or [], answer.get("pipelines") or [])
        if more := answer.get("more_effects"):
            say(f"{more} more effects are not shown")
        changes = len(answer.get("changes") or ())
        say(f"dry run: nothing was changed; {changes} {'change' if changes == 1 else 'changes'} would be made")
    else:
        say(f"{done} ({format_revision(answer)})" if isinstance(done, str) else done(answer))
        if "warning" in answer:
            note(f"warning: {answer['warning']}")
    return None if options.dry_run else answer


def print_effects(effects: Sequence[Mapping[str, Any]], pipelines: Sequence[Mapping[str, Any]]) -> None:
    """Print which actions principals would lose and gain, and which pipelines would break or open."""
    if effects:
        print_table(("principal", "resource", "loses", "gains"), list(_rows(effects)))
    if pipelines:
        print_table(("pipeline", "effect"), [(_resource_name(each["pipeline"]), _effect(each)) for each in pipelines])
    if not (effects or pipelines):
        say("no decision would change")


def _rows(effects: Sequence[Mapping[str, Any]]) -> Iterator[Sequence[str]]:
    """Yield one row for all resources on which a principal loses and gains the same actions."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for each in effects:
        key = (each["name"], _actions(each["lost"]), _actions(each["gained"]))
        alike.setdefault(key, []).append(each["resource"])
    for (name, lost, gained), resources in alike.items():
        rest = len(resources) - _NAMES
        named = ", ".join(map(_resource_name, resources[:_NAMES]))
        yield name, f"{named}{f' and {rest} more' if rest > 0 else ''}", lost, gained


def _actions(abilities: Sequence[Mapping[str, Any]]) -> str:
    """Return actions as text; an action on assignments is followed by the role that can be assigned."""
    return ", ".join(" ".join(filter(None, (each["action"], each.get("role")))) for each in abilities)


def _effect(pipeline: Mapping[str, Any]) -> str:
    return " and ".join(word for word in ("breaks", "opens") if pipeline[word])


@cache
def _resource_name(id: str) -> str:
    """Return the name of a resource; its id if it does not exist yet, or the caller may not see it."""
    with suppress(ApiError):
        return str(send_request("GET", api_path("resources", id))["name"])
    return id
