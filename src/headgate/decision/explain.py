"""Why not, and what would fix it: the smallest assignments that turn a deny into an allow, verified by applying them."""

from collections.abc import Iterator
from dataclasses import replace

from headgate.decision.records import Explanation, Fix, Needed, Question
from headgate.decision.reference import decide, discoverable, touched
from headgate.facts.caller import Caller
from headgate.facts.changes import RoleAssigned
from headgate.facts.fold import apply
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Snapshot
from headgate.model.model import Model

Option = tuple[tuple[str, ResourceId], ...]
"""Assignments to make together: role and place."""


def explain(model: Model, facts: Snapshot, question: Question, now: float) -> Explanation:
    """Answer a question in full. Who may not discover what it is decided on gets no fix and no approver."""
    decision = decide(model, facts, question, now)
    visible = all(discoverable(model, facts, question.caller, id, now) for id in _decided_on(model, question))
    fixes = () if decision.allowed or not visible else smallest_fixes(model, facts, question, now)
    return Explanation(decision, visible, fixes)


def smallest_fixes(model: Model, facts: Snapshot, question: Question, now: float) -> tuple[Fix, ...]:
    """Return the least that would allow: one assignment, or one on each thing that lacks it.

    For somebody who may see the answer (the asker of an own question that is visible, an owner, an admin).
    A fix is only returned if applying it to the snapshot makes the decision an allow, and applying less does not.
    """
    if question.resource not in facts.resources:
        return ()
    options = (_pruned(model, facts, question, each, now) for each in _options(model, facts, question))
    working = dict.fromkeys(option for option in options if option)
    least = min((_size(model, facts, option) for option in working), default=(0, 0))
    return tuple(
        _fix(model, facts, question, option, now) for option in working if _size(model, facts, option) == least
    )


def _approving(
    model: Model, facts: Snapshot, role: str, place: ResourceId, subject: PrincipalId, now: float
) -> Iterator[PrincipalId]:
    """Yield the users who could make this assignment; looked for only as far as somebody asks."""
    question = Question(Caller(subject), "assignment.add", place, role=role, subject=subject)
    for user, kind in sorted(facts.principals.items()):
        if kind == "user" and decide(model, facts, replace(question, caller=Caller(user)), now).allowed:
            yield user


def _decided_on(model: Model, question: Question) -> tuple[ResourceId, ...]:
    """Return the named resources too; and only these where no role on the resource itself is asked for."""
    named = tuple(id for ids in question.on.values() for id in ids)
    return named if named and not model.giving(question.action) else (question.resource, *named)


def _options(model: Model, facts: Snapshot, question: Question) -> Iterator[Option]:
    """Yield every single assignment at a place that may matter, and every role on all that is touched at once."""
    resource = facts.resources[question.resource]
    rule = model.derived.get(resource.type)
    deciding = touched(resource, rule) if rule else ()
    named = [id for ids in question.on.values() for id in ids]
    several = tuple(dict.fromkeys(id for id in (*deciding, *named) if id in facts.resources))
    places = [resource.id, *several]
    places += [above.id for place in tuple(places) for above in facts.ancestors(place)]
    for place in dict.fromkeys(places):
        yield from (((role.name, place),) for role in model.roles.values() if facts.resources[place].type in role.on)
    for role in model.roles.values():
        yield tuple((role.name, place) for place in several if facts.resources[place].type in role.on)


def _pruned(model: Model, facts: Snapshot, question: Question, option: Option, now: float) -> Option:
    """Return the option without what is not needed; empty if it does not work, or somebody could not make it."""
    if not _works(model, facts, question, option, now):
        return ()
    for needless in option:
        less = tuple(each for each in option if each != needless)
        if less and _works(model, facts, question, less, now):
            option = less
    subject = question.caller.principal
    possible = all(any(_approving(model, facts, role, place, subject, now)) for role, place in option)
    return option if possible else ()


def _works(model: Model, facts: Snapshot, question: Question, option: Option, now: float) -> bool:
    for role, place in option:
        facts = apply(facts, RoleAssigned(question.caller.principal, role, place, model.name))
    return decide(model, facts, question, now).allowed


def _size(model: Model, facts: Snapshot, option: Option) -> tuple[int, int]:
    """Return how much an option gives: its strongest role first, then on how many resources."""
    strongest = max(len(model.roles[role].actions) for role, _ in option)
    return strongest, sum(1 + sum(1 for _ in facts.below(place)) for _, place in option)


def _fix(model: Model, facts: Snapshot, question: Question, option: Option, now: float) -> Fix:
    subject = question.caller.principal
    return Fix(
        subject,
        tuple(
            Needed(role, place, tuple(_approving(model, facts, role, place, subject, now))) for role, place in option
        ),
    )
