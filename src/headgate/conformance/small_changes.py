"""Small changes of a world: whether one of them turns a denial into an allow, so that the denial depends on the world.

A denial that no small change can flip may be right, as that of an action which the model never allows. It may also come from a
slip in the case: then it passes for no reason. The small changes are one assignment more or less, one membership more or less
(of a group, or of the organization), and one other value of a setting: for the caller or the subject of the question, on the resources that the question names, those
above and directly below them, and those that their relations name.
"""

from collections.abc import Iterator

from headgate.conformance.questions import expand_question
from headgate.conformance.runner import DENY, ConformanceCase, prepare_world
from headgate.conformance.world import Log, World
from headgate.conformance.world_builder import membership_of
from headgate.decision.tree import inheritance_sources
from headgate.decision.types import Question
from headgate.facts.changes import Change, Edge, MemberAdded, MemberRemoved, RoleAssigned, RoleRevoked, SettingChanged
from headgate.facts.ids import PrincipalId, ResourceId, SubjectId
from headgate.facts.snapshot import Snapshot
from headgate.model.model import Model, Role


def depends_on_world(world: World, case: ConformanceCase) -> bool:
    """Return whether a small change of the world turns the denial of a case into an allow; true for an expected allow."""
    if case.expect != DENY:
        return True
    world = prepare_world(world, case)
    asked = expand_question(world, case.ask)
    changes = ((each.log, change) for each in asked for change in _small_changes(world, each.log, each.question))
    return any(_is_allowed(world.with_changes(log, change), case) for log, change in changes)


def _is_allowed(world: World, case: ConformanceCase) -> bool:
    asked = expand_question(world, case.ask)
    return all(world.engines[each.log].check(each.question, world.now).allowed for each in asked)


def _small_changes(world: World, log: Log, question: Question) -> Iterator[tuple[Change, ...]]:
    facts, model = world.facts(log), world.language.model
    places = _places(facts, model, question)
    subjects = [question.caller.principal, *([question.subject] if question.subject else [])]
    single = (
        _assignments(facts, model, subjects, places),
        _memberships(facts, subjects),
        _settings(facts, model, places),
    )
    yield from ((change,) for changes in single for change in changes)
    yield from _entrances(world, log, subjects)


def _places(facts: Snapshot, model: Model, question: Question) -> tuple[ResourceId, ...]:
    """Return the resources near the question, the nearest first."""
    targets = [id for ids in question.on.values() for id in ids]
    named = [question.resource, *targets, *([ResourceId(question.subject)] if question.subject else [])]
    related = [edge.target for id in named if id in facts.resources for edge in _edges(facts, id)]
    near = [id for id in dict.fromkeys((*named, *related)) if id in facts.resources]
    above = [each for id in near for each in sorted(inheritance_sources(facts, model, id))]
    below = [child for id in named for child in sorted(facts.children.get(id, {}).values())]
    return tuple(dict.fromkeys((*near, *above, *below)))


def _edges(facts: Snapshot, id: ResourceId) -> Iterator[Edge]:
    return (edge for edges in facts.resources[id].relations.values() for edge in edges)


def _assignments(
    facts: Snapshot, model: Model, subjects: list[SubjectId], places: tuple[ResourceId, ...]
) -> Iterator[Change]:
    strongest = sorted(model.roles.values(), key=lambda role: -len(role.actions))
    for place in places:
        for role in strongest:
            if _may_be_assigned(model, role, facts.resources[place].type):
                yield from (RoleAssigned(subject, role.name, place, model.name) for subject in subjects)
    for subject in subjects:
        for role, place, reason in facts.assignments.get(subject, {}):
            yield RoleRevoked(subject, role, place, reason)


def _may_be_assigned(model: Model, role: Role, type: str) -> bool:
    custom = model.custom_roles
    return type in role.on or (custom is not None and role.name in custom.of and type in custom.on)


def _memberships(facts: Snapshot, subjects: list[SubjectId]) -> Iterator[Change]:
    for subject in (PrincipalId(each) for each in subjects if each in facts.principals):
        held = facts.groups_of(subject)
        for group in facts.groups:
            yield MemberRemoved(group, subject) if group in held else MemberAdded(group, subject)


def _entrances(world: World, log: Log, subjects: list[SubjectId]) -> Iterator[tuple[Change, ...]]:
    """Yield the changes by which a user of the world who is not in the log enters it, with each role of its root."""
    facts, model = world.facts(log), world.language.model
    outside = [user for user in world.users if user["id"] in subjects and user["id"] not in facts.principals]
    for entrance in map(membership_of, outside):
        yield (entrance,)
        for role in model.roles.values():
            if _may_be_assigned(model, role, world.types[log]):
                yield entrance, RoleAssigned(entrance.principal, role.name, log, model.name)


def _settings(facts: Snapshot, model: Model, places: tuple[ResourceId, ...]) -> Iterator[Change]:
    for place in places:
        for setting in model.settings.values():
            if facts.resources[place].type in setting.on:
                current = facts.setting(place, setting.name) or setting.default
                yield from (SettingChanged(place, setting.name, value) for value in setting.values if value != current)
