"""Expands the question of a case into canonical questions, each for the log that decides it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from headgate.conformance.errors import ScenarioError
from headgate.conformance.language import CREATING
from headgate.conformance.world import World
from headgate.conformance.world_builder import resource_at
from headgate.control.kernel.operations import choose_action, list_operation_needs, list_places
from headgate.control.kernel.parsing import JsonObject, entry, first_text, require_text
from headgate.control.kernel.vocabulary import shipped_vocabulary
from headgate.control.questions.parsing import parse_question
from headgate.decision.context import model_for
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Resource, Snapshot
from headgate.model.describe import join_names
from headgate.model.diagnostics import choose_from


@dataclass(frozen=True, slots=True)
class Asked:
    """A canonical question, and the log that decides it."""

    log: ResourceId
    question: Question


def expand_question(world: World, ask: JsonObject) -> tuple[Asked, ...]:
    """Return the canonical questions of a case's question, which is allowed if there is one and all are allowed.

    A question names an `action` on a `resource`, or an `operation` on the resources in `on`. Raises `ScenarioError` for an
    unknown action, operation, type or id.
    """
    if "operation" in ask:
        return tuple(_expand_operation(world, ask))
    name, resource, said = require_text(ask, "action"), require_text(ask, "resource"), entry(ask.get("with", {}))
    log = world.place(resource)
    meant = world.language.actions_named(
        name, first_text(said, "type") if name in CREATING else None, world.types[resource]
    )
    caller, answers = _find_caller(world, ask), world.engines[log]
    return tuple(
        Asked(log, parse_question(answers, caller, action, resource_at(resource, way), said)) for action, way in meant
    )


def _find_caller(world: World, ask: JsonObject) -> Caller:
    actor = require_text(ask, "actor")
    if actor not in world.ids:
        raise ScenarioError(
            f"the world declares no actor with the id `{actor}`; declare the actor in the world, or correct `actor`"
        )
    return world.caller(actor)


def _expand_operation(world: World, ask: JsonObject) -> Iterator[Asked]:
    """Yield a question for each action that an operation needs on its resources, which `on` names."""
    operation, said = require_text(ask, "operation"), entry(ask.get("with", {}))
    ids = _name_places(operation, entry(ask.get("on")))
    first = list_places(operation)[0]
    log, caller = world.place(ids[first]), _find_caller(world, ask)
    answers, words = world.engines[log], {key: text for key in said if (text := first_text(said, key)) is not None}
    places = {word: _find_resource(answers.facts, id) for word, id in ids.items()}
    models = {word: model_for(world.models, answers.facts, each.type, each.id) for word, each in places.items()}
    for need in list_operation_needs(operation, models[first]):
        place = places[need.place]
        try:
            action = choose_action(need, place.type, models[need.place], words)
        except KeyError as missing:
            raise ScenarioError(f"`{operation}` has the word `{missing.args[0]}`; write it in `with`") from None
        yield Asked(log, parse_question(answers, caller, action, place.id, said))


def _find_resource(facts: Snapshot, id: str) -> Resource:
    """Return a resource of the operation's organization. Raises `ScenarioError` if it has none of this id."""
    found = facts.resources.get(ResourceId(id))
    if found is None:
        raise ScenarioError(f"`{id}` is no resource of the organization `{facts.organization}`; correct the id in `on`")
    return found


def _name_places(operation: str, named: JsonObject) -> Mapping[str, str]:
    """Return the id of each resource of the operation. Raises `ScenarioError` for an unknown operation or resource."""
    table = shipped_vocabulary().operations
    if operation not in table:
        near = get_close_matches(operation, table) or list(table)
        raise ScenarioError(f"there is no operation `{operation}`; {choose_from(near)}")
    words = list_places(operation)
    if named.keys() != set(words):
        raise ScenarioError(
            f"`{operation}` is about {join_names(words)}; write the id of each in `on`, and nothing else"
        )
    return {word: require_text(named, word) for word in words}
