"""Candidates: an over-approximation of the sources of a role on a resource, and of the principals that may hold it.

`decide` then decides about each candidate; these walks only avoid decisions about all resources and principals.
"""

from collections.abc import Collection, Iterator

from headgate.decision.conditions import holds
from headgate.decision.context import EvaluationContext
from headgate.decision.tree import derived_inputs, inheritance_sources
from headgate.facts.ids import GroupId, PrincipalId, ResourceId, SubjectId
from headgate.facts.snapshot import NO_SUBJECTS, NOTHING_HELD, Resource, Snapshot
from headgate.model.model import SETTING_ROOTS, Model, PropagationRule

_OF_NO_QUESTION = frozenset((*SETTING_ROOTS, "self", "parent"))
"""The operands of conditions whose value is the same for every caller."""


def list_role_sources(facts: Snapshot, model: Model, resource: Resource) -> tuple[ResourceId, ...]:
    """Return the resource and all resources above it from which a role can come down to it, also along relations."""
    along = {rule.along for rule in model.spread if rule.along and (rule.to is None or resource.type in rule.to)}
    starts = (resource.id, *(edge.target for relation in sorted(along) for edge in resource.edges(relation)))
    found = (each for start in starts for each in (start, *sorted(inheritance_sources(facts, model, start))))
    return tuple(id for id in dict.fromkeys(found) if id in facts.resources)


def may_grant(asked: EvaluationContext, model: Model, resource: Resource, name: str, wanted: Collection[str]) -> bool:
    """Whether an assignment of this role or custom role on some resource can give one of the wanted roles on `resource`."""
    case = asked.condition_input(model, resource)
    roles = asked.facts.custom_roles.get(name, frozenset[str]()) | {name}
    spread = {
        rule.role or role
        for rule in model.spread
        for role in roles & rule.roles
        if holds(tuple(term for term in rule.when if term.root in _OF_NO_QUESTION), case)
    }
    return any(model.roles[role].closure & set(wanted) for role in (roles | spread) & model.roles.keys())


def candidate_principals(asked: EvaluationContext, resource: Resource, wanted: Collection[str]) -> set[PrincipalId]:
    """Return all principals that may hold one of the roles on the resource, now or at another time."""
    model, facts = asked.model(resource), asked.facts
    if model is None or not wanted:
        return set()
    places = [resource.id]
    if resource.type in model.derived:
        places += [id for id in derived_inputs(resource, model.derived[resource.type]) if id in facts.resources]
    found = set[PrincipalId]()
    for place in dict.fromkeys(places):
        holders = list_holders(asked, model, facts.resources[place], wanted)
        found |= {principal for subject in holders for principal in members_of(facts, subject)}
        found |= _find_named(facts, model, facts.resources[place])
    return found


def members_of(facts: Snapshot, subject: SubjectId) -> set[PrincipalId]:
    """Return the principals that an assignment to the subject can reach: itself, a group's members, or a team's, at any depth."""
    found, seen, waiting = set[PrincipalId](), {subject}, [subject]
    while waiting:
        current = waiting.pop()
        group = facts.groups.get(GroupId(current))
        found.update(group.members if group else (PrincipalId(current),) if current in facts.principals else ())
        new = [each for each in facts.assignments_on.get(ResourceId(current), NO_SUBJECTS) if each not in seen]
        seen.update(new)
        waiting.extend(new)
    return found


def list_own_subjects(facts: Snapshot, model: Model, principal: PrincipalId) -> tuple[SubjectId, ...]:
    """Return the subjects whose assignments may count for the principal: itself, its groups and its teams, at any depth."""
    found: dict[SubjectId, None] = dict.fromkeys((principal, *sorted(facts.groups_of(principal))))
    waiting = list(found)
    for subject in waiting:
        places = {place for _, place, _ in facts.assignments.get(subject, NOTHING_HELD)}
        new = sorted(each for each in places if is_team(facts, model, each) and each not in found)
        found.update(dict.fromkeys(new))
        waiting.extend(new)
    return tuple(found)


def is_team(facts: Snapshot, model: Model, subject: SubjectId) -> bool:
    """Whether a subject is a resource whose members get its assignments under the model."""
    there = facts.resources.get(ResourceId(subject))
    return there is not None and there.type in model.members


def list_holders(asked: EvaluationContext, model: Model, resource: Resource, wanted: Collection[str]) -> set[SubjectId]:
    """Return every subject with an assignment that may give one of the wanted roles on the resource."""
    found = set[SubjectId]()
    leading: dict[str, bool] = {}
    for origin in dict.fromkeys(
        (*list_role_sources(asked.facts, model, resource), *list_sources_below(asked, model, resource, wanted))
    ):
        for subject, keys in asked.facts.assignments_on.get(origin, {}).items():
            for name, _, _ in keys:
                if name not in leading:
                    leading[name] = may_grant(asked, model, resource, name, wanted)
                if leading[name]:
                    found.add(subject)
    return found


def list_sources_below(
    asked: EvaluationContext, model: Model, resource: Resource, wanted: Collection[str]
) -> Iterator[ResourceId]:
    """Yield the resources from which a wanted role can come up to the resource."""
    facts = asked.facts
    for rule in model.spread:
        if any(model.roles[rule.role or role].closure & set(wanted) for role in rule.roles):
            for top in _propagation_roots(facts, rule, resource):
                yield from (id for id in facts.list_below(top) if facts.resources[id].type in rule.origin)


def _propagation_roots(facts: Snapshot, rule: PropagationRule, resource: Resource) -> tuple[ResourceId, ...]:
    line = (resource, *(facts.ancestors(resource.id) if rule.within else ()))
    return tuple(each.id for each in line if each.type == rule.up)


def _find_named(facts: Snapshot, model: Model, resource: Resource) -> set[PrincipalId]:
    named = {
        PrincipalId(edge.target)
        for rule in model.named_in
        if resource.type in rule.to
        for edge in resource.edges(rule.relation)
    }
    return {id for id in (*named, resource.creator) if id is not None and id in facts.principals}
