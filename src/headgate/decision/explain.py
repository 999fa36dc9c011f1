"""Why not, and what would fix it: the smallest assignments that turn a deny into an allow, verified by applying them."""

from collections.abc import Iterator
from dataclasses import replace

from headgate.decision.records import Explanation, Fix, Question
from headgate.decision.reference import decide, discoverable
from headgate.facts.caller import Caller
from headgate.facts.changes import RoleAssigned
from headgate.facts.fold import apply
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Snapshot
from headgate.model.model import Model


def explain(model: Model, facts: Snapshot, question: Question, now: float) -> Explanation:
    """Answer a question in full. Who may not discover what it is decided on gets no fix and no approver."""
    decision = decide(model, facts, question, now)
    visible = all(discoverable(model, facts, question.caller, id, now) for id in _decided_on(model, question))
    fixes = () if decision.allowed or not visible else smallest_fixes(model, facts, question, now)
    return Explanation(decision, visible, fixes)


def smallest_fixes(model: Model, facts: Snapshot, question: Question, now: float) -> tuple[Fix, ...]:
    """Return the weakest single assignments that allow, nearest place first.

    For somebody who may see the answer (the asker of an own question that is visible, an owner, an admin).
    A fix is only returned if applying it to the snapshot makes the decision an allow.
    """
    if question.resource not in facts.resources:
        return ()
    candidates = _candidates(model, facts, question)
    working = [(role, place) for role, place in candidates if _works(model, facts, question, role, place, now)]
    return tuple(
        Fix(
            question.caller.principal, role, place, approvers(model, facts, role, place, question.caller.principal, now)
        )
        for role, place in _least(model, working)
    )


def approvers(
    model: Model, facts: Snapshot, role: str, place: ResourceId, subject: PrincipalId, now: float
) -> tuple[PrincipalId, ...]:
    """Return the users who could make this assignment."""
    question = Question(Caller(subject), "assignment.add", place, role=role, subject=subject)
    return tuple(
        user
        for user, kind in sorted(facts.principals.items())
        if kind == "user" and decide(model, facts, replace(question, caller=Caller(user)), now).allowed
    )


def _decided_on(model: Model, question: Question) -> tuple[ResourceId, ...]:
    """Return the named resources too; and only these where no role on the resource itself is asked for."""
    named = tuple(id for ids in question.on.values() for id in ids)
    return named if named and not model.giving(question.action) else (question.resource, *named)


def _candidates(model: Model, facts: Snapshot, question: Question) -> Iterator[tuple[str, ResourceId]]:
    """Yield assignable roles on the resource, on what is above it and on what it touches."""
    resource = facts.resources[question.resource]
    touched = [edge.target for edges in resource.relations.values() for edge in edges if edge.target in facts.resources]
    named = [id for ids in question.on.values() for id in ids if id in facts.resources]
    places = [resource.id, *touched, *named]
    places += [above.id for place in tuple(places) for above in facts.ancestors(place)]
    for place in dict.fromkeys(places):
        for role in model.roles.values():
            if facts.resources[place].type in role.on:
                yield role.name, place


def _works(model: Model, facts: Snapshot, question: Question, role: str, place: ResourceId, now: float) -> bool:
    principal = question.caller.principal
    ask = Question(Caller(principal), "assignment.add", place, role=role, subject=principal)
    if not _grantable(model, facts, ask, now):
        return False
    after = apply(facts, RoleAssigned(principal, role, place, model.name))
    return decide(model, after, question, now).allowed


def _grantable(model: Model, facts: Snapshot, ask: Question, now: float) -> bool:
    return any(
        decide(model, facts, replace(ask, caller=Caller(user)), now).allowed
        for user, kind in facts.principals.items()
        if kind == "user"
    )


def _least(model: Model, working: list[tuple[str, ResourceId]]) -> list[tuple[str, ResourceId]]:
    """Keep the roles that give the least, in the order of the places: the resource itself first."""
    size = min((len(model.roles[role].actions) for role, _ in working), default=0)
    return [(role, place) for role, place in working if len(model.roles[role].actions) == size]
