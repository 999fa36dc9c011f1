"""Expands the question of a case into canonical questions, each for the log that decides it."""

from dataclasses import dataclass

from headgate.conformance.errors import ScenarioError
from headgate.conformance.language import CREATING
from headgate.conformance.world import World
from headgate.conformance.world_builder import resource_at
from headgate.control.kernel.parsing import JsonObject, entry, first_text, require_text
from headgate.control.questions.parsing import parse_question
from headgate.decision.types import Question
from headgate.facts.ids import ResourceId


@dataclass(frozen=True, slots=True)
class Asked:
    """A canonical question, and the log that decides it."""

    log: ResourceId
    question: Question


def expand_question(world: World, ask: JsonObject) -> tuple[Asked, ...]:
    """Return the canonical questions of a case's question, which is allowed if there is one and all are allowed.

    Raises `ScenarioError` for an unknown action, type or id.
    """
    name, resource, said = require_text(ask, "action"), require_text(ask, "resource"), entry(ask.get("with", {}))
    log = world.place(resource)
    meant = world.language.actions_named(
        name, first_text(said, "type") if name in CREATING else None, world.types[resource]
    )
    actor = require_text(ask, "actor")
    if actor not in world.ids:
        raise ScenarioError(
            f"the world declares no actor with the id `{actor}`; declare the actor in the world, or correct `actor`"
        )
    caller, answers = world.caller(actor), world.engines[log]
    return tuple(
        Asked(log, parse_question(answers, caller, action, resource_at(resource, way), said)) for action, way in meant
    )
