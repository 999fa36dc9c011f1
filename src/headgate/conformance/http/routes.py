"""The routes of the HTTP API that perform the action of a question, read from `scenario_routes.yaml`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote

import yaml

from headgate.conformance.errors import ScenarioError
from headgate.conformance.questions import Asked
from headgate.conformance.world import World
from headgate.conformance.world_builder import resolve_parent
from headgate.control.kernel.parsing import JsonObject
from headgate.decision.types import Question

_MAKING = "create_"
_TYPE = "{type}"
"""The placeholder for the type of a created resource; a route with it performs the action only for types of the model."""


@dataclass(frozen=True, slots=True)
class Route:
    """A request that performs one of the `actions`; if `method` is empty, the actions have no route."""

    actions: tuple[str, ...]
    method: str
    path: str
    query: Mapping[str, Any]
    body: Mapping[str, Any]
    also: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A request, and the actions that it needs: it is allowed if all of them are."""

    method: str
    path: str
    query: Mapping[str, Any]
    body: Mapping[str, Any]
    actions: tuple[str, ...]


@cache
def load_route_table() -> tuple[Route, ...]:
    """Return the table of routes."""
    table = yaml.safe_load(
        files("headgate.conformance.http").joinpath("scenario_routes.yaml").read_text(encoding="utf-8")
    )
    return tuple(map(_route, table))


def call_for(world: World, asked: Sequence[Asked], said: JsonObject) -> Call | None:
    """Return the request for the first of these questions that has a route; None if no question has one."""
    questions = [each.question for each in asked if not _unseen(world, each) and not _is_for_own_point(world, each)]
    actions = {each.action for each in questions}
    for question in questions:
        route = next(
            each for each in load_route_table() if any(fnmatchcase(question.action, name) for name in each.actions)
        )
        if route.method and actions.issuperset(route.also):
            known = {**_list_values(question), **_describe_creation(world, question)}
            known |= {f"with.{name}": value for name, value in said.items()}
            parts = [_fill(part, known) for part in route.path.split("/")]
            if None in parts or (_TYPE in route.body.values() and "type" not in known):
                return None  # the question names no such object or type, so no request can be sent
            path = "/".join(quote(str(part), safe="") for part in parts)
            query, body = _object(route.query, known), _object(route.body, known)
            return Call(route.method, path, query, body, (question.action, *route.also))
    return None


def _unseen(world: World, asked: Asked) -> bool:
    """Whether the question names a resource that its caller may not see."""
    engine, question = world.engines[asked.log], asked.question
    there = (id for ids in question.on.values() for id in ids if id in engine.facts.resources)
    return not all(engine.is_discoverable(question.caller, id, world.now) for id in there)


def _is_for_own_point(world: World, asked: Asked) -> bool:
    """Whether the question has a parameter that only the organization's own enforcement points pass, and no command."""
    question = asked.question
    own = world.language.model.parameters.get(question.action, ())
    return any(name in question.given or name in question.on for name in own)


def _route(entry: Mapping[str, Any]) -> Route:
    method, _, path = entry.get("call", "").partition(" ")
    also, query, body = tuple(entry.get("also", ())), entry.get("query", {}), entry.get("body", {})
    return Route(tuple(entry["actions"]), method, path, query, body, also)


def _list_values(question: Question) -> Mapping[str, Any]:
    return {
        "verb": question.action.partition(".")[2],
        "resource": question.resource,
        "subject": question.subject,
        "role": question.role,
        "new_role": question.new_role,
    }


def _describe_creation(world: World, question: Question) -> Mapping[str, Any]:
    """Return the type, parent, relations and attributes of the resource that the question would create.

    Empty if the verb creates no type of the model: a view, for one, is a table to the API, and created by the catalog.
    """
    verb = question.action.partition(".")[2]
    type = verb.removeprefix(_MAKING)
    if not verb.startswith(_MAKING) or type not in world.language.model.types:
        return {}
    try:
        parent, belonging = resolve_parent(world, question.resource, type)
    except ScenarioError:  # the model has no parent for the type: the route has to refuse it
        parent, belonging = question.resource, {}
    owners = {name: tuple(edge.target for edge in edges) for name, edges in belonging.items()}
    on = {**owners, **question.on}
    return {
        "type": type,
        "parent": parent,
        "relations": {name: [{"to": each} for each in ids] for name, ids in on.items()},
        "attributes": {name: list(words) for name, words in question.given.items() if name != "type"},
    }


def _object(source: Mapping[str, Any], known: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a part of a request, without the fields for which the question has no value."""
    filled = {key: _fill(value, known) for key, value in source.items()}
    return {key: value for key, value in filled.items() if value is not None}


def _fill(value: Any, known: Mapping[str, Any]) -> Any:
    """Return the value of a placeholder, a text in braces; any other value unchanged."""
    return known.get(value[1:-1]) if isinstance(value, str) and value.startswith("{") else value
