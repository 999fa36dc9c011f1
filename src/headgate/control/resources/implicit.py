"""Implicit children of a new resource, and the roles that its creator is assigned."""

from collections.abc import Iterator, Mapping

from headgate.control.kernel.command import CommandContext
from headgate.decision.context import EvaluationContext
from headgate.decision.effective_assignments import expand_assignment
from headgate.decision.tree import subject_kind
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.changes import ResourceCreated, RoleAssigned
from headgate.facts.ids import PrincipalId, ResourceId, SubjectId
from headgate.facts.snapshot import Assignment
from headgate.model.model import CreatorRole, Model

_NO_QUESTION = Question(Caller(PrincipalId("")), "", ResourceId(""))
"""For the conditions of a future grant, which no caller asks about."""


def implicit_children(model: Model, parent: ResourceId, type: str) -> Iterator[ResourceCreated]:
    """Yield the implicit children of a resource of a type: one of each implicit type, with a derived id."""
    for each in model.types.values():
        if each.implicit and type in each.parents:
            id = ResourceId(f"{parent}/{each.name}")
            yield ResourceCreated(id, each.name, parent, each.name)
            yield from implicit_children(model, id, each.name)


def creator_assignments(
    view: CommandContext, resource: ResourceId, type: str, parent: ResourceId, model: Model
) -> Iterator[RoleAssigned]:
    """Yield the assignments that are made on a new resource: to its creator or its team, and for future grants above it.

    There is no creator if the deployment itself creates the resource. The end of a future grant is also that of its
    assignments. A role with a single holder is assigned once: for a future grant without an end, or else to the creator.
    """
    single: dict[str, RoleAssigned] = {}
    for rule in sorted(model.creators, key=lambda rule: rule.future is None):
        for given in _assigned_by(view, rule, resource, parent, model) if type in rule.types else ():
            if not model.roles[rule.role].single:
                yield given
            elif given.ends is None:
                single.setdefault(rule.role, given)
    yield from single.values()


def _assigned_by(
    view: CommandContext, rule: CreatorRole, resource: ResourceId, parent: ResourceId, model: Model
) -> Iterator[RoleAssigned]:
    """Yield the assignments of one rule."""
    if rule.future:
        for given in _list_future_grants(view, parent, rule.future, model).values():
            if subject_kind(view.facts, given.subject) in model.roles[rule.role].to:
                yield RoleAssigned(given.subject, rule.role, resource, model.name, given.grantor, given.ends)
    elif view.actor is not None:
        yield RoleAssigned(_creator(view, rule, model), rule.role, resource, model.name, view.actor)


def _creator(view: CommandContext, rule: CreatorRole, model: Model) -> SubjectId:
    """Return the subject that a rule assigns its role to: the caller, or the team in which it acts, if that can have the role."""
    team = view.acting_team if rule.acting else None
    can_have = team is not None and subject_kind(view.facts, team) in model.roles[rule.role].to
    return team if team is not None and can_have else PrincipalId(view.actor or "")


def _list_future_grants(
    view: CommandContext, parent: ResourceId, role: str, model: Model
) -> Mapping[SubjectId, Assignment]:
    """Return the assignments of a role that count now on the nearest resource with any, among the parent and those above."""
    facts = view.facts
    for place in (parent, *(each.id for each in facts.ancestors(parent))):
        there = [each for each in facts.list_assigned_on(place) if (each.role, each.model) == (role, model.name)]
        asked = EvaluationContext(view.models, facts, _NO_QUESTION, view.now)
        found = [
            each
            for each in there
            if each.holds_at(view.now) and role in expand_assignment(asked, model, each, facts.resources[place])
        ]
        if found:
            latest_last = sorted(found, key=lambda each: (each.ends is None, each.ends or 0))
            return {each.subject: each for each in latest_last}
    return {}
