"""Reach of assignments: the resources whose decisions may depend on them; inverts the walks of the reference."""

from collections.abc import Collection, Iterable, Iterator

from headgate.decision.context import Models
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Resource, Snapshot
from headgate.model.model import SETTING_ROOTS, Condition, Model, PropagationRule, When


def find_reachable_resources(
    models: Models, facts: Snapshot, origins: Iterable[ResourceId], roles: Collection[str] | None = None
) -> set[ResourceId]:
    """Return every resource on which a decision may depend on an assignment of the roles (None: any) on an origin."""
    known = {id for id in origins if id in facts.resources}
    held = set(known)
    for model in models.values():
        held |= _spread(facts, model, known, roles)
    held |= {id for model in models.values() for id in _find_derived(facts, model, held)}
    needing = {id for model in models.values() for id in _find_needing(facts, model, held)}
    served = {id for model in models.values() for id in _find_served(facts, model, held)}
    return held | needing | served


def is_satisfiable(facts: Snapshot, model: Model, when: When) -> bool:
    """Whether the conditions can hold on any resource, given the values of the settings."""
    return all(_can_hold(facts, model, term) for term in when if term.root in SETTING_ROOTS)


def _can_hold(facts: Snapshot, model: Model, term: Condition) -> bool:
    values = {here[term.name] for here in facts.settings.values() if term.name in here}
    values.add(model.settings[term.name].default)
    return any((value in term.values) is not term.negated for value in values)


def _spread(
    facts: Snapshot, model: Model, origins: Collection[ResourceId], roles: Collection[str] | None
) -> set[ResourceId]:
    """Return the resources to which the model's spread rules extend an assignment."""
    found = set[ResourceId]()
    for rule in model.spread:
        if (roles is None or not rule.roles.isdisjoint(roles)) and is_satisfiable(facts, model, rule.when):
            starts = [facts.resources[id] for id in origins if facts.resources[id].type in rule.origin]
            found |= _up(facts, rule, starts) if rule.up else _down(facts, model, rule, starts)
    return found


def _up(facts: Snapshot, rule: PropagationRule, starts: Iterable[Resource]) -> set[ResourceId]:
    lines = ((start, *facts.ancestors(start.id)) for start in starts)
    found = ([each.id for each in line if each.type == rule.up][: None if rule.every else 1] for line in lines)
    tops = {id for tops in found for id in tops}
    return tops | ({id for top in tops for id in facts.list_below(top)} if rule.within else set[ResourceId]())


def _down(facts: Snapshot, model: Model, rule: PropagationRule, starts: Iterable[Resource]) -> set[ResourceId]:
    found = {start.id for start in starts}
    waiting = list(found)
    while waiting:
        current = waiting.pop()
        below = {*facts.children.get(current, {}).values(), *_find_naming(facts, current, model.lineage)} - found
        found |= below
        waiting.extend(below)
    return {id for each in found for id in _find_naming(facts, each, (rule.along,))} if rule.along else found


def _find_naming(facts: Snapshot, id: ResourceId, relations: Collection[str]) -> Iterator[ResourceId]:
    """Yield the resources with an edge to this one in one of the relations, enabled or not."""
    for referrer in facts.referrers.get(id, ()) if relations else ():
        named = facts.resources[referrer].relations
        if any(edge.target == id for relation in relations for edge in named.get(relation, ())):
            yield referrer


def _find_derived(facts: Snapshot, model: Model, held: Iterable[ResourceId]) -> Iterator[ResourceId]:
    for id in held if model.derived else ():
        yield from (each for each in facts.referrers.get(id, ()) if facts.resources[each].type in model.derived)


def _find_needing(facts: Snapshot, model: Model, held: Iterable[ResourceId]) -> Iterator[ResourceId]:
    """Yield the resources on which an action may require a role on one of these resources."""
    places = {each for needs in model.needs.values() for alternative in needs for each in alternative.roles}
    places |= {each for rule in model.assign for each in rule.needs}
    own = {place.relation for place in places if place.root == "self" and place.relation}
    parents = {place.relation for place in places if place.root == "parent" and place.relation}
    under = any(place.root == "parent" and not place.relation for place in places)
    for id in held if own or parents or under else ():
        yield from _find_naming(facts, id, own)
        for above in (*((id,) if under else ()), *_find_naming(facts, id, parents)):
            yield from facts.children.get(above, {}).values()


def _find_served(facts: Snapshot, model: Model, held: Iterable[ResourceId]) -> Iterator[ResourceId]:
    for bridge in model.bridges:
        yield from (edge.target for id in held for edge in facts.resources[id].relations.get(bridge.relation, ()))
