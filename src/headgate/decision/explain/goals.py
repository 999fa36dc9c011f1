"""Goals: the roles that a caller would have to hold for a denial to become an allow, by the reference's rules.

Only alternatives whose conditions hold already are considered, because no assignment changes a state or a setting.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product

from headgate.decision.conditions import holds
from headgate.decision.context import EvaluationContext
from headgate.decision.reference import ASSIGNING
from headgate.decision.tree import derived_inputs, requirement_places, subject_kind
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Resource
from headgate.model.model import AssignRule, Model, Requirement

_MOST_CHOICES = 100
"""The most choices of roles for the verbs of a parameter: there are as many as products of the roles that give each verb."""


@dataclass(frozen=True, slots=True)
class Need:
    """A role to hold on a resource."""

    role: str
    resource: ResourceId


Goal = tuple[Need, ...]
"""Needs that suffice all together."""


def list_goals(asked: EvaluationContext) -> Iterator[Goal]:
    """Yield every set of roles by which the question could be allowed."""
    resource = asked.facts.resources.get(asked.question.resource)
    model = asked.model(resource) if resource else None
    if resource is None or model is None:
        return
    if asked.question.action in ASSIGNING:
        found = _list_assigning_goals(asked, model, resource)
    else:
        found = (*_list_acting_goals(asked, model, resource), *_list_bridge_goals(asked, resource))
    for goal in found:
        yield from (_join_goals(each) for each in product(*(_ways(asked, need) for need in goal)))


def _list_acting_goals(asked: EvaluationContext, model: Model, resource: Resource) -> tuple[Goal, ...]:
    giving, alternatives = model.roles_granting(asked.question.action), model.needs.get(asked.question.action)
    own: list[Goal] = [(Need(role, resource.id),) for role in model.minimal_roles(giving)] if giving else [()]
    needed = [()] if alternatives is None else list(_possible(asked, model, resource, alternatives))
    return tuple(_join_goals(each) for each in product(own, needed))


def _possible(
    asked: EvaluationContext, model: Model, resource: Resource, alternatives: tuple[Requirement, ...]
) -> Iterator[Goal]:
    for each in alternatives:
        places = [requirement_places(asked.facts, asked.question, resource, needed) for needed in each.roles]
        named = all(ids or needed.optional for ids, needed in zip(places, each.roles, strict=True))
        words = asked.question.given.get(each.each, ()) if each.each else ()
        if named and (words or not each.each) and holds(each.when, asked.condition_input(model, resource)):
            own = tuple(Need(needed.role, id) for ids, needed in zip(places, each.roles, strict=True) for id in ids)
            verbs = dict.fromkeys(words)
            giving = (model.minimal_roles(model.roles_granting(f"{resource.type}.{verb}")) for verb in verbs)
            for roles in islice(product(*giving), _MOST_CHOICES):
                yield (*own, *(Need(role, resource.id) for role in roles))


def _list_bridge_goals(asked: EvaluationContext, resource: Resource) -> Iterator[Goal]:
    for id in sorted(asked.facts.referrers.get(resource.id, ())):
        port = asked.facts.resources[id]
        model = asked.model(port)
        for bridge in model.bridges if model else ():
            leads_here = any(edge.target == resource.id for edge in port.edges(bridge.relation))
            if leads_here and asked.question.action in bridge.actions:
                yield (Need(bridge.role, id),)


def _list_assigning_goals(asked: EvaluationContext, model: Model, resource: Resource) -> tuple[Goal, ...]:
    question, verb = asked.question, ASSIGNING[asked.question.action]
    if verb != "change":
        return tuple(_by_rules(asked, model, resource, verb, question.role))
    taking = _by_rules(asked, model, resource, "remove", question.role)
    giving = _by_rules(asked, model, resource, "add", question.new_role)
    changing = _by_rules(asked, model, resource, "change", question.new_role)
    return (*changing, *(_join_goals(each) for each in product(taking, giving)))


def _by_rules(
    asked: EvaluationContext, model: Model, resource: Resource, verb: str, role: str | None
) -> Iterator[Goal]:
    case = asked.condition_input(model, resource)
    for rule in model.assign:
        if role is not None and _about(asked, rule, resource, verb, role) and holds(rule.when, case):
            yield from _list_holding_goals(asked, model, rule, resource)


def _about(asked: EvaluationContext, rule: AssignRule, resource: Resource, verb: str, role: str) -> bool:
    subject = asked.question.subject
    kind = subject_kind(asked.facts, subject) if subject else "user"
    known = role in rule.roles or (rule.custom and role in asked.facts.custom_roles)
    return known and verb in rule.verbs and resource.type in rule.on and kind in rule.to


def _list_holding_goals(asked: EvaluationContext, model: Model, rule: AssignRule, resource: Resource) -> Iterator[Goal]:
    subject = ResourceId(asked.question.subject or "")
    sides = ((rule.holder, resource.id), (rule.on_subject, subject))
    held = [[(Need(role, id),) for role in model.minimal_roles(roles)] for roles, id in sides if roles]
    besides = _possible(asked, model, resource, (Requirement((), rule.needs),))
    yield from (_join_goals(each) for each in product(*held, besides))


def _ways(asked: EvaluationContext, need: Need) -> tuple[Goal, ...]:
    """Return the ways to hold a role: on the resource itself or, for a derived type, on all resources that it touches."""
    resource = asked.facts.resources.get(need.resource)
    model = asked.model(resource) if resource else None
    if resource is None or model is None:
        return ()
    rule = model.derived.get(resource.type)
    deciding = derived_inputs(resource, rule) if rule else ()
    return ((need,), tuple(Need(need.role, id) for id in deciding)) if deciding else ((need,),)


def _join_goals(goals: tuple[Goal, ...]) -> Goal:
    return tuple(dict.fromkeys(need for goal in goals for need in goal))
