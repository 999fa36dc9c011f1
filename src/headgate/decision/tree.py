"""Walks over the resource tree and its relations: where roles come from, and where they are required."""

from headgate.decision.types import Question
from headgate.facts.ids import PrincipalId, ResourceId, SubjectId
from headgate.facts.snapshot import Resource, Snapshot
from headgate.model.model import Model, PropagationRule, RequiredRole, WeakestOfRule


def subject_kind(facts: Snapshot, subject: SubjectId) -> str:
    """Return the kind of a subject: the principal's kind, `group`, or the type of a resource; empty if it is unknown."""
    principal, resource = facts.principals.get(PrincipalId(subject)), facts.resources.get(ResourceId(subject))
    return principal.kind if principal else resource.type if resource else ""


def rule_applies(facts: Snapshot, model: Model, rule: PropagationRule, origin: Resource, target: Resource) -> bool:
    """Whether an assignment on `origin` acts on `target` by this rule."""
    if rule.to is not None and target.type not in rule.to:
        return False
    if rule.up is not None:
        tops = list_line(facts, origin, rule.up)[: None if rule.every else 1]
        return target.id in tops or (rule.within and any(each.id in tops for each in facts.ancestors(target.id)))
    if rule.along is None:
        return origin.id in inheritance_sources(facts, model, target.id)
    starts = {edge.target for edge in target.edges(rule.along)}
    return origin.id in starts.union(*(inheritance_sources(facts, model, id) for id in starts))


def list_line(facts: Snapshot, resource: Resource, type: str) -> list[ResourceId]:
    """Return the resources of a type among the resource and its ancestors, nearest first."""
    return [each.id for each in (resource, *facts.ancestors(resource.id)) if each.type == type]


def has_same_nearest(facts: Snapshot, resource: Resource, other: Resource | None, type: str) -> bool:
    """Whether two resources have the same nearest resource of a type, among themselves and their ancestors."""
    here, there = list_line(facts, resource, type)[:1], list_line(facts, other, type)[:1] if other else []
    return bool(here) and here == there


def inheritance_sources(facts: Snapshot, model: Model, id: ResourceId) -> set[ResourceId]:
    """Return all resources from which a role can come down to the resource: its ancestors, also along `lineage` relations."""
    found: set[ResourceId] = set()
    todo = [id]
    while todo:
        current = facts.resources.get(todo.pop())
        if current is not None:
            next_up = {current.parent, *(edge.target for name in model.lineage for edge in current.edges(name))}
            todo.extend(next_up - found - {id})
            found |= next_up - {id}
    return found


def requirement_places(
    facts: Snapshot, question: Question, resource: Resource, needed: RequiredRole
) -> tuple[ResourceId, ...]:
    """Return the resources on which a requirement needs its role."""
    if needed.root == "with":
        return question.on.get(needed.relation or "", ())
    start = facts.resources[resource.parent] if needed.root == "parent" else resource
    return tuple(edge.target for edge in start.edges(needed.relation)) if needed.relation else (start.id,)


def derived_inputs(resource: Resource, rule: WeakestOfRule) -> list[ResourceId]:
    """Return the resources that decide on a derived type: the targets of enabled edges, or those of `when_empty`.

    Deleted resources stay among them, so that dropping a table never gives access to a pipeline.
    """
    enabled = {edge.target for relation in rule.weakest_over for edge in resource.edges(relation)}
    written = {edge.target for relation in rule.when_empty for edge in resource.relations.get(relation, ())}
    return sorted(enabled or written)
