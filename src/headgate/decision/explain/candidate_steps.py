"""Candidate steps of a fix: single assignments and memberships that may give a caller a role on a resource.

`fixes` verifies each by applying it; these lists only have to contain all that can help.
"""

from collections.abc import Iterator

from headgate.decision.candidates import (
    is_team,
    list_holders,
    list_own_subjects,
    list_role_sources,
    list_sources_below,
    may_grant,
)
from headgate.decision.context import EvaluationContext
from headgate.decision.tree import subject_kind
from headgate.facts.changes import MemberAdded, RoleAssigned
from headgate.facts.ids import GroupId, PrincipalId, ResourceId, SubjectId
from headgate.facts.snapshot import NO_SUBJECTS, Resource, Snapshot
from headgate.model.model import Model

FixStep = RoleAssigned | MemberAdded
"""One change of a fix."""


def list_direct_steps(asked: EvaluationContext, model: Model, resource: Resource, role: str) -> Iterator[RoleAssigned]:
    """Yield every assignment to the caller, on the resource or above it, that may give the role on the resource.

    An assignment that meets a membership requirement (`standing`) may do so, too: with it, other assignments count.
    """
    principal = asked.question.caller.principal
    places = list_role_sources(asked.facts, model, resource)
    given = _list_assignments(asked, model, resource, role, (principal,), places)
    yield from dict.fromkeys((*given, *_list_memberships(asked, model, resource, principal)))


def _list_memberships(
    asked: EvaluationContext, model: Model, resource: Resource, principal: PrincipalId
) -> Iterator[RoleAssigned]:
    kind, above = subject_kind(asked.facts, principal), tuple(asked.facts.ancestors(resource.id))
    for rule in model.standing:
        for anchor in (each for each in above if each.type == rule.on and asked.model(each) is model):
            for role in list_assignable_roles(asked.facts, model, anchor.type, kind):
                if role in rule.roles:
                    yield RoleAssigned(principal, role, anchor.id, model.name)


def list_wider_steps(asked: EvaluationContext, model: Model, resource: Resource, role: str) -> Iterator[FixStep]:
    """Yield every other step that may give the caller the role.

    They are assignments to groups and teams of the caller, assignments from which the role comes up to the resource, and
    memberships.
    """
    principal = asked.question.caller.principal
    above = list_role_sources(asked.facts, model, resource)
    below = tuple(id for id in dict.fromkeys(list_sources_below(asked, model, resource, (role,))) if id not in above)
    others = tuple(each for each in list_own_subjects(asked.facts, model, principal) if each != principal)
    yield from _list_assignments(asked, model, resource, role, (principal,), below)
    yield from _list_assignments(asked, model, resource, role, others, (*above, *below))
    yield from list_joining_steps(asked, model, resource, role)


def list_joining_steps(asked: EvaluationContext, model: Model, resource: Resource, role: str) -> Iterator[FixStep]:
    """Yield every membership in a group or team that may give the caller the role: one that it, or its group or team, lacks."""
    facts, principal = asked.facts, asked.question.caller.principal
    own = list_own_subjects(facts, model, principal)
    for joined in sorted(_list_joinable(facts, model, list_holders(asked, model, resource, (role,))) - set(own)):
        if joined in facts.groups:
            yield from (MemberAdded(GroupId(joined), principal),) if principal in facts.principals else ()
            continue
        team = facts.resources[ResourceId(joined)]
        if asked.model(team) is model:
            for subject in own:
                for name in list_assignable_roles(facts, model, team.type, subject_kind(facts, subject)):
                    yield RoleAssigned(subject, name, team.id, model.name)


def list_assignable_roles(facts: Snapshot, model: Model, type: str, kind: str) -> Iterator[str]:
    """Yield the roles and custom roles that a kind of subject can be assigned on a type."""
    yield from (role.name for role in model.roles.values() if type in role.on and kind in role.to)
    custom = model.custom_roles
    if custom and type in custom.on and kind in custom.to:
        yield from sorted(facts.custom_roles.keys() - model.roles.keys())


def _list_joinable(facts: Snapshot, model: Model, holders: set[SubjectId]) -> set[SubjectId]:
    """Return the groups and teams among the holders, and those that are members of these teams."""
    found = {each for each in holders if each in facts.groups or is_team(facts, model, each)}
    todo = list(found)
    while todo:
        members = facts.assignments_on.get(ResourceId(todo.pop()), NO_SUBJECTS)
        new = {each for each in members if each in facts.groups or is_team(facts, model, each)} - found
        found |= new
        todo.extend(new)
    return found


def _list_assignments(
    asked: EvaluationContext,
    model: Model,
    resource: Resource,
    role: str,
    subjects: tuple[SubjectId, ...],
    places: tuple[ResourceId, ...],
) -> Iterator[RoleAssigned]:
    facts = asked.facts
    for place in (facts.resources[id] for id in places):
        if asked.model(place) is model:
            for subject in subjects:
                for name in list_assignable_roles(facts, model, place.type, subject_kind(facts, subject)):
                    if may_grant(asked, model, resource, name, (role,)):
                        yield RoleAssigned(subject, name, place.id, model.name)
