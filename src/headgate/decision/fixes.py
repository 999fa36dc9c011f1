"""The smallest assignments that would turn a deny into an allow, each verified by applying it.

The smallest are those of the weakest roles, and among them those that reach the fewest resources.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby

from headgate.decision.asked import Asked, Models, not_standing
from headgate.decision.counting import stands
from headgate.decision.goals import Goal, Need, goals
from headgate.decision.places import kind_of
from headgate.decision.records import Fix, Needed, Question
from headgate.decision.reference import decide, held
from headgate.decision.sources import candidates, leads, sources
from headgate.facts.caller import Caller
from headgate.facts.changes import RoleAssigned
from headgate.facts.fold import fold
from headgate.facts.ids import PrincipalId, ResourceId, SubjectId
from headgate.facts.snapshot import Resource, Snapshot
from headgate.model.model import Model

Option = tuple[RoleAssigned, ...]
"""Assignments to make together, in this order."""


def smallest_fixes(models: Models, facts: Snapshot, question: Question, now: float) -> tuple[Fix, ...]:
    """Return the least that would allow, as far as assignments that somebody could make would.

    For somebody who may see the answer (the asker of an own question that is visible, an owner, an admin).
    Applying a fix to the snapshot makes the decision an allow, and applying less does not. Its assignments are in the
    order in which they can be made.
    """
    asked = Asked(models, facts, question, now)
    if question.resource not in facts.resources or not_standing(facts, question.caller, now):
        return ()
    found = (_pruned(asked, option) for option in _options(asked))
    working = dict.fromkeys(option for option in found if option)
    weakest = min((_strengths(asked, option) for option in working), default=())
    least = [option for option in working if _strengths(asked, option) == weakest]
    return tuple(_fix(asked, option) for option in _narrowest(facts, least))


def _options(asked: Asked) -> Iterator[Option]:
    """Yield the least that reaches each goal; and what the one stands on whom an assignment is for."""
    solved: dict[Need, tuple[Option, ...]] = {}
    for goal in goals(asked):
        yield from _reaching(asked, goal, solved)
    question, resource = asked.question, asked.facts.resources[asked.question.resource]
    model, role = asked.model(resource), question.new_role or question.role
    if question.subject is not None and role is not None and model is not None:
        entered = _entered(asked, model, RoleAssigned(question.subject, role, resource.id, model.name))
        yield entered[:-1]


def _reaching(asked: Asked, goal: Goal, solved: dict[Need, tuple[Option, ...]]) -> Iterator[Option]:
    lacking = [need for need in goal if not _holds(asked, need)]
    for need in lacking:
        if need not in solved:
            solved[need] = _giving(asked, need)
    # Where a need can be met in several ways that are as small, so many fixes are as small.
    for each in zip(*(solved[need] for need in lacking), strict=False):
        yield tuple(dict.fromkeys(chain.from_iterable(each)))


def _giving(asked: Asked, need: Need) -> tuple[Option, ...]:
    """Return the smallest options that make the asker hold the role there, and that can be made."""
    resource = asked.facts.resources.get(need.resource)
    model = asked.model(resource) if resource else None
    if resource is None or model is None:
        return ()
    ranked = sorted(_single(asked, model, resource, need.role), key=lambda given: _strength(asked, model, given))
    for _, equals in groupby(ranked, key=lambda given: _strength(asked, model, given)):
        options = [_entered(asked, model, given) for given in equals]
        working = [each for each in options if _holds(_with(asked, each), need) and _can_be_made(asked, each)]
        if working:
            return _narrowest(asked.facts, working)
    return ()


def _single(asked: Asked, model: Model, resource: Resource, role: str) -> Iterator[RoleAssigned]:
    """Yield every single assignment to the asker that may give the role on the resource."""
    facts, subject = asked.facts, asked.question.caller.principal
    for place in (facts.resources[id] for id in sources(facts, model, resource)):
        if asked.model(place) is model:
            for name in _assignable(facts, model, place.type, kind_of(facts, subject)):
                if leads(asked, model, resource, name, (role,)):
                    yield RoleAssigned(subject, name, place.id, model.name)


def _assignable(facts: Snapshot, model: Model, type: str, kind: str) -> Iterator[str]:
    yield from (role.name for role in model.roles.values() if type in role.on and kind in role.to)
    custom = model.custom_roles
    if custom and type in custom.on and kind in custom.to:
        yield from sorted(facts.custom_roles.keys() - model.roles.keys())


def _entered(asked: Asked, model: Model, given: RoleAssigned) -> Option:
    """Return the assignment after the weakest ones on which it stands and that its subject lacks, if there are any."""
    facts, subject = asked.facts, given.subject
    kind = kind_of(facts, subject)
    before: list[RoleAssigned] = []
    for rule in model.standing:
        if not stands(asked, model, rule, subject, kind, given.role, given.resource):
            anchor = next(each for each in facts.ancestors(given.resource) if each.type == rule.on)
            known = (role for role in _assignable(facts, model, anchor.type, kind) if role in rule.roles)
            entries = [RoleAssigned(subject, role, anchor.id, model.name) for role in known]
            entries.sort(key=lambda entry: _strength(asked, model, entry))
            made = (_entered(asked, model, entry) for entry in entries)
            before += next((option for option in made if _can_be_made(asked, option)), ())
    return (*before, given)


def _can_be_made(asked: Asked, option: Option) -> bool:
    return all(any(_approving(*step)) for step in _steps(asked, option))


def _approving(asked: Asked, given: RoleAssigned) -> Iterator[PrincipalId]:
    """Yield the users who could make this assignment; looked for only as far as somebody asks."""
    facts, place = asked.facts, asked.facts.resources[given.resource]
    model, subject = asked.model(place), facts.resources.get(ResourceId(given.subject))
    about = [rule for rule in model.assign if place.type in rule.on and "add" in rule.verbs] if model else []
    rules = [rule for rule in about if rule.custom or given.role in rule.roles]
    who = candidates(asked, place, {holder for rule in rules for holder in rule.holder})
    if subject:
        who |= candidates(asked, subject, {role for rule in rules if not rule.holder for role in rule.on_subject})
    for user in sorted(id for id in who if facts.principals[id].kind == "user"):
        add = Question(Caller(user), "assignment.add", place.id, role=given.role, subject=given.subject)
        if decide(asked.models, facts, add, asked.now).allowed:
            yield user


def _steps(asked: Asked, option: Option) -> Iterator[tuple[Asked, RoleAssigned]]:
    """Yield each assignment with the facts that it will be made on."""
    for each in option:
        yield asked, each
        asked = _with(asked, (each,))


def _with(asked: Asked, option: Option) -> Asked:
    return replace(asked, facts=fold(asked.facts, option, asked.facts.revision))


def _holds(asked: Asked, need: Need) -> bool:
    resource = asked.facts.resources.get(need.resource)
    return resource is not None and any(path.role == need.role for path in held(asked, resource))


def _pruned(asked: Asked, option: Option) -> Option:
    """Return the option without what is not needed; empty if it does not work, or cannot be made."""
    if not _works(asked, option):
        return ()
    for needless in option:
        less = tuple(each for each in option if each != needless)
        if less and _works(asked, less):
            option = less
    return option if _can_be_made(asked, option) else ()


def _works(asked: Asked, option: Option) -> bool:
    return bool(option) and decide(asked.models, _with(asked, option).facts, asked.question, asked.now).allowed


def _strengths(asked: Asked, option: Option) -> tuple[int, ...]:
    """Return how strong the roles are, the strongest first."""
    models = (asked.models[given.model] for given in option)
    strengths = {_strength(asked, model, given) for model, given in zip(models, option, strict=True)}
    return tuple(sorted(strengths, reverse=True))


def _strength(asked: Asked, model: Model, given: RoleAssigned) -> int:
    """Return how many actions the role, or custom role, gives."""
    roles = asked.facts.custom_roles.get(given.role, frozenset((given.role,))) & model.roles.keys()
    return len(frozenset[str]().union(*(model.roles[role].actions for role in roles)))


def _narrowest(facts: Snapshot, options: Sequence[Option]) -> tuple[Option, ...]:
    """Return the options that reach the fewest resources: all walk down in step, so that a wide one costs no more."""
    walks = {option: _reached(facts, option) for option in options}
    ended = tuple(options) if len(walks) < 2 else ()  # noqa: PLR2004 (nothing to compare)
    while not ended:
        ended = tuple(option for option, walk in walks.items() if next(walk, None) is None)
    return ended


def _reached(facts: Snapshot, option: Option) -> Iterator[ResourceId]:
    for given in option:
        yield given.resource
        yield from facts.below(given.resource)


def _fix(asked: Asked, option: Option) -> Fix:
    subject: SubjectId = option[0].subject
    steps = _steps(asked, option)
    return Fix(subject, tuple(Needed(each.role, each.resource, tuple(_approving(at, each))) for at, each in steps))
