"""Fixes: the smallest assignments that would turn a denial into an allow, each verified by applying it.

The smallest are those with the weakest roles and, among them, those that reach the fewest resources.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby

from headgate.decision.caller_validity import caller_invalid
from headgate.decision.candidates import candidate_principals, list_role_sources, may_grant
from headgate.decision.context import EvaluationContext
from headgate.decision.diff.reach import is_satisfiable
from headgate.decision.effective_assignments import expand_assignment, meets_membership
from headgate.decision.evaluator import Answers
from headgate.decision.explain.goals import Goal, Need, list_goals
from headgate.decision.reference import find_paths
from headgate.decision.tree import subject_kind
from headgate.decision.types import Fix, Question, RequiredAssignment
from headgate.facts.caller import Caller
from headgate.facts.changes import RoleAssigned
from headgate.facts.fold import fold
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Assignment, Resource, Snapshot
from headgate.model.model import Model

Option = tuple[RoleAssigned, ...]
"""Assignments to make together, in this order."""


@dataclass(frozen=True, slots=True)
class _At:
    """The question on some facts, and an evaluator for other questions on the same facts."""

    asked: EvaluationContext
    answers: Answers

    @property
    def facts(self) -> Snapshot:
        """The facts."""
        return self.asked.facts

    def with_option(self, option: Option) -> "_At":
        """Return the question and evaluator on the facts with these assignments."""
        facts = fold(self.facts, option, self.facts.revision)
        return _At(replace(self.asked, facts=facts), self.answers.advance(option, facts))

    def is_allowed(self, question: Question) -> bool:
        """Whether the decision is allow."""
        return self.answers.check(question, self.asked.now).allowed


def find_fixes(answers: Answers, question: Question, now: float) -> tuple[Fix, ...]:
    """Return the smallest fixes that consist of assignments to the caller that some user may make.

    Membership in a group or team is not proposed, because it gives more than the question needs. The result is only for
    recipients that may see it (the caller, for their own question on visible resources; an owner; an admin). Applying a
    fix to the snapshot makes the decision an allow, and applying a part of it does not. The assignments are in an order
    in which they can be made.
    """
    facts = answers.facts
    at = _At(EvaluationContext(answers.models, facts, question, now), answers)
    if (
        question.resource not in facts.resources
        or caller_invalid(facts, question.caller, now)
        or at.is_allowed(question)
    ):
        return ()
    found = (_minimised(at, option) for option in _options(at))
    working = dict.fromkeys(option for option in found if option)
    weakest = min((_strengths(at.asked, option) for option in working), default=())
    least = [option for option in working if _strengths(at.asked, option) == weakest]
    return tuple(_fix(at, option) for option in _narrowest(facts, least))


def _options(at: _At) -> Iterator[Option]:
    """Yield the smallest options for each goal; and the memberships that the subject of an assignment lacks."""
    solved: dict[Need, tuple[Option, ...]] = {}
    for goal in list_goals(at.asked):
        yield from _list_options_for_goal(at, goal, solved)
    question, resource = at.asked.question, at.facts.resources[at.asked.question.resource]
    model, role = at.asked.model(resource), question.new_role or question.role
    if question.subject is not None and role is not None and model is not None:
        yield _add_memberships(at, model, RoleAssigned(question.subject, role, resource.id, model.name))[:-1]


def _list_options_for_goal(at: _At, goal: Goal, solved: dict[Need, tuple[Option, ...]]) -> Iterator[Option]:
    lacking = [need for need in goal if not _holds(at, need)]
    for need in lacking:
        if need not in solved:
            solved[need] = _list_options_for_need(at, need)
    # If a need can be met by several equally small options, there are as many equally small fixes.
    for each in zip(*(solved[need] for need in lacking), strict=False):
        yield tuple(dict.fromkeys(chain.from_iterable(each)))


def _list_options_for_need(at: _At, need: Need) -> tuple[Option, ...]:
    """Return the smallest options that give the caller the role on the resource and that users may make."""
    resource = at.facts.resources.get(need.resource)
    model = at.asked.model(resource) if resource else None
    if resource is None or model is None:
        return ()
    single = _single(at.asked, model, resource, need.role)
    ranked = sorted((_strength(at.asked, model, given), given.resource, given.role, given) for given in single)
    for _, equals in groupby(ranked, key=lambda each: each[0]):
        options = [_add_memberships(at, model, given) for *_, given in equals]
        working = [each for each in options if _holds(at.with_option(each), need) and _can_be_made(at, each)]
        if working:
            return _narrowest(at.facts, working)
    return ()


def _single(asked: EvaluationContext, model: Model, resource: Resource, role: str) -> Iterator[RoleAssigned]:
    """Yield every single assignment to the caller that may give the role on the resource."""
    facts, subject = asked.facts, asked.question.caller.principal
    for place in (facts.resources[id] for id in list_role_sources(facts, model, resource)):
        if asked.model(place) is model:
            for name in _assignable(facts, model, place.type, subject_kind(facts, subject)):
                if may_grant(asked, model, resource, name, (role,)):
                    yield RoleAssigned(subject, name, place.id, model.name)


def _assignable(facts: Snapshot, model: Model, type: str, kind: str) -> Iterator[str]:
    yield from (role.name for role in model.roles.values() if type in role.on and kind in role.to)
    custom = model.custom_roles
    if custom and type in custom.on and kind in custom.to:
        yield from sorted(facts.custom_roles.keys() - model.roles.keys())


def _add_memberships(at: _At, model: Model, given: RoleAssigned) -> Option:
    """Return the assignment, preceded by the weakest memberships that it requires (`standing`) and its subject lacks."""
    facts, subject = at.facts, given.subject
    kind = subject_kind(facts, subject)
    before: list[RoleAssigned] = []
    for rule in model.standing:
        if not meets_membership(at.asked, model, rule, subject, kind, given.role, given.resource):
            anchor = next(each for each in facts.ancestors(given.resource) if each.type == rule.on)
            known = (role for role in _assignable(facts, model, anchor.type, kind) if role in rule.roles)
            entries = [RoleAssigned(subject, role, anchor.id, model.name) for role in known]
            entries.sort(key=lambda entry: (_strength(at.asked, model, entry), entry.role))
            options = (_add_memberships(at, model, entry) for entry in entries)
            before += next((option for option in options if _can_be_made(at, option)), ())
    return (*before, given)


def _can_be_made(at: _At, option: Option) -> bool:
    return all(any(_find_approvers(*step)) for step in _steps(at, option))


def _find_approvers(at: _At, given: RoleAssigned) -> Iterator[PrincipalId]:
    """Yield the users who may make this assignment; each is computed only when requested."""
    facts, place = at.facts, at.facts.resources[given.resource]
    model, subject = at.asked.model(place), facts.resources.get(ResourceId(given.subject))
    about = [rule for rule in model.assign if place.type in rule.on and "add" in rule.verbs] if model else []
    rules = [rule for rule in about if rule.custom or given.role in rule.roles]
    who = candidate_principals(at.asked, place, {holder for rule in rules for holder in rule.holder})
    if subject:
        who |= candidate_principals(
            at.asked, subject, {role for rule in rules if not rule.holder for role in rule.on_subject}
        )
    for user in sorted(id for id in who if facts.principals[id].kind == "user"):
        add = Question(Caller(user), "assignment.add", place.id, role=given.role, subject=given.subject)
        if at.is_allowed(add):
            yield user


def _steps(at: _At, option: Option) -> Iterator[tuple[_At, RoleAssigned]]:
    """Yield each assignment with the facts on which it will be made."""
    for each in option:
        yield at, each
        at = at.with_option((each,))


def _holds(at: _At, need: Need) -> bool:
    resource = at.facts.resources.get(need.resource)
    return resource is not None and any(path.role == need.role for path in find_paths(at.asked, resource))


def _minimised(at: _At, option: Option) -> Option:
    """Return the option without needless assignments; empty if it does not work, or no user may make it."""
    if not _works(at, option):
        return ()
    for needless in option:
        less = tuple(each for each in option if each != needless)
        if _works(at, less):
            option = less
    return option if _can_be_made(at, option) else ()


def _works(at: _At, option: Option) -> bool:
    return bool(option) and at.with_option(option).is_allowed(at.asked.question)


def _strengths(asked: EvaluationContext, option: Option) -> tuple[int, ...]:
    """Return the strengths of the option's roles, the strongest first."""
    return tuple(sorted({_strength(asked, asked.models[given.model], given) for given in option}, reverse=True))


def _strength(asked: EvaluationContext, model: Model, given: RoleAssigned) -> int:
    """Return the number of actions that the role, or custom role, gives on its resource or where it spreads."""
    facts = asked.facts
    assignment = Assignment(given.subject, given.role, given.resource, given.model, None, None)
    roles = expand_assignment(asked, model, assignment, facts.resources[given.resource])
    spread = {
        rule.role
        for rule in model.spread
        if rule.role and rule.roles & roles and is_satisfiable(facts, model, rule.when)
    }
    return len(frozenset[str]().union(*(model.roles[role].actions for role in roles | spread)))


def _narrowest(facts: Snapshot, options: Sequence[Option]) -> tuple[Option, ...]:
    """Return the options that reach the fewest resources. All are walked in step, so that a wide one costs no more."""
    if len(options) < 2:  # noqa: PLR2004 (nothing to compare)
        return tuple(options)
    walks = {option: _list_reached(facts, option) for option in options}
    ended: tuple[Option, ...] = ()
    while not ended:
        ended = tuple(option for option, walk in walks.items() if next(walk, None) is None)
    return ended


def _list_reached(facts: Snapshot, option: Option) -> Iterator[ResourceId]:
    for given in option:
        yield given.resource
        yield from facts.list_below(given.resource)


def _fix(at: _At, option: Option) -> Fix:
    needed = (
        RequiredAssignment(each.role, each.resource, tuple(_find_approvers(now, each)))
        for now, each in _steps(at, option)
    )
    return Fix(option[0].subject, tuple(needed))
