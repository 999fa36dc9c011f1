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
    **query: Any,
) -> Answer | None:
    """Send a write and print its result; return the response, or None for a dry run.

    `done` states the result, or makes that sentence from the response. Raises `ApiError` with the text of the problem.
    """
    answer = send_write(method, path, body=body, dry_run=options.dry_run, reason=options.reason, **query)
    if options.output == "json":
        write_json(answer, indent=2)
    elif options.dry_run:
        _print_effects(answer)
    else:
        revision = f" ({format_revision(answer)})" if "revision" in answer else ""
        say(f"{done if isinstance(done, str) else done(answer)}{revision}")
        if "warning" in answer:
            note(f"warning: {answer['warning']}")
    return None if options.dry_run else answer


def _print_effects(answer: Answer) -> None:
    """Print which actions principals would lose and gain, and which pipelines would break or open."""
    effects, pipelines = answer.get("effects") or [], answer.get("pipelines") or []
    if effects:
        print_table(("principal", "resource", "loses", "gains"), list(_rows(effects)))
    if pipelines:
        print_table(("pipeline", "effect"), [(_resource_name(each["pipeline"]), _effect(each)) for each in pipelines])
    if more := answer.get("more_effects"):
        say(f"{more} more effects are not shown")
    changes = len(answer.get("changes") or ())
    say(
        f"dry run: nothing was changed; the command would make {changes} {'change' if changes == 1 else 'changes'}"
        f"{'' if effects or pipelines else ' and no decision would change'}"
    )


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
