"""From a case's question to the questions that it stands for, each on the log that it is decided on."""

from collections.abc import Mapping
from dataclasses import dataclass

from headgate.control.scenarios.building import ROLE_WORDS, at, ids_in
from headgate.control.scenarios.language import CREATING
from headgate.control.scenarios.values import Entry, ScenarioError, Value, entry, first, items, text, words
from headgate.control.scenarios.world import World
from headgate.decision.records import Question
from headgate.facts.ids import PrincipalId, ResourceId, SubjectId
from headgate.facts.snapshot import Snapshot

_SUBJECT_WORDS = ("to", "from", "of", "user")
_JOINING = "add_user"
"""The verb of bringing in somebody who may be nobody yet."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A canonical question, and the log that it goes to."""

    log: ResourceId
    question: Question


@dataclass(frozen=True, slots=True)
class _Parameters:
    """What a question says besides who, what and where."""

    on: Mapping[str, tuple[ResourceId, ...]]
    given: Mapping[str, tuple[str, ...]]
    subject: SubjectId | None
    role: str | None
    new_role: str | None


def questions(world: World, ask: Entry) -> tuple[Asked, ...]:
    """Return the questions that one question of a case stands for: it is allowed if all of them are, and there is one.

    Raises `ScenarioError` for an action, type or id that nobody knows.
    """
    name, resource, given = text(ask, "action"), text(ask, "resource"), entry(ask.get("with", {}))
    log = world.place(resource)
    meant = world.language.meant(name, first(given, "type") if name in CREATING else None, world.types[resource])
    parameters = _parameters(world, ResourceId(resource), name, given)
    actor = text(ask, "actor")
    if actor not in world.ids:
        raise ScenarioError(f"nobody of the id `{actor}` was declared")
    caller = world.caller(actor)
    joining = any(action.endswith(f".{_JOINING}") for action, _ in meant)
    asked: list[Asked] = []
    for action, way in meant:
        place = at(resource, way)
        role, new_role, subject = _assignment(world.facts(log), action, place, parameters, joining=joining)
        question = Question(caller, action, place, parameters.on, role, subject, new_role, parameters.given)
        asked.append(Asked(log, question))
    return tuple(asked)


def _parameters(world: World, resource: ResourceId, name: str, given: Entry) -> _Parameters:
    on: dict[str, tuple[ResourceId, ...]] = {}
    said: dict[str, tuple[str, ...]] = {}
    for key, value in given.items():
        if key in ("output", "outputs"):
            on |= _written(world.facts(world.place(resource)), value, creating=name in CREATING)
        elif key == "stream":
            on |= _stream(world.facts(world.place(resource)), resource, words(value))
        elif key not in (*ROLE_WORDS, *_SUBJECT_WORDS, "new_role"):
            ids = ids_in(world, key, value)
            if ids is None:
                said[key] = words(value)
            else:
                on[key] = ids
    subject = first(given, *_SUBJECT_WORDS)
    who = None if subject is None else PrincipalId(subject)
    return _Parameters(on, said, who, first(given, *ROLE_WORDS), first(given, "new_role"))


def _written(facts: Snapshot, value: Value, *, creating: bool) -> Mapping[str, tuple[ResourceId, ...]]:
    """Return the tables that are written, and where new ones would lie.

    What is created also declares where the tables lie that it writes to.
    """
    tables, layers = list[ResourceId](), list[ResourceId]()
    for each in items(value):
        if isinstance(each, Mapping):
            layers.append(ResourceId(text(each, "new_table_in")))
        elif isinstance(each, str):
            tables.append(ResourceId(each))
    if creating:
        layers += (facts.resources[table].parent for table in tables if table in facts.resources)
    return {"outputs": tuple(tables), "output_layers": tuple(dict.fromkeys(layers))}


def _stream(facts: Snapshot, resource: ResourceId, names: tuple[str, ...]) -> Mapping[str, tuple[ResourceId, ...]]:
    """Return what the edges of these names lead to, by relation."""
    found = facts.resources.get(resource)
    if found is None:
        return {}
    named = {
        relation: tuple(edge.target for edge in edges if edge.name in names)
        for relation, edges in found.relations.items()
    }
    return {relation: targets for relation, targets in named.items() if targets}


def _assignment(
    facts: Snapshot, action: str, place: ResourceId, parameters: _Parameters, *, joining: bool
) -> tuple[str | None, str | None, SubjectId | None]:
    """Return the role, the new role and the subject that a question is about.

    A role that is to be changed or taken, and not named, is the one held there; changed to no other, it stays.
    """
    role, new_role, subject = parameters.role, parameters.new_role, parameters.subject
    if joining and subject not in facts.principals:
        return role, new_role, None
    held = _held(facts, subject, place)
    if action == "assignment.change" and new_role is None:
        return held, role or held, subject
    if action == "assignment.remove" and role is None:
        return held, None, subject
    return role, new_role, subject


def _held(facts: Snapshot, subject: SubjectId | None, place: ResourceId) -> str | None:
    given = facts.assignments.get(subject, {}) if subject else {}
    return next((role for role, where, _ in given if where == place), None)
