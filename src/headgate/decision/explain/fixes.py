"""Fixes: the smallest changes that would turn a denial into an allow, each verified by applying it.

The smallest are assignments to the caller with the weakest roles and, among them, those that reach the fewest resources.
Where no assignment to the caller gives a role that is needed, assignments to its groups and teams, and memberships, count
too. A membership that suffices alone is a fix besides: it gives more than the question needs, but is often what a user
asks for. Of the candidates for these, the `_MOST_TRIED` weakest that the recipient may know are tried.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby, islice

from headgate.decision.caller_validity import caller_invalid
from headgate.decision.candidates import candidate_principals, list_role_sources
from headgate.decision.context import EvaluationContext
from headgate.decision.diff.reach import is_satisfiable
from headgate.decision.effective_assignments import expand_assignment, meets_membership
from headgate.decision.evaluator import Answers
from headgate.decision.explain.candidate_steps import (
    FixStep,
    list_assignable_roles,
    list_direct_steps,
    list_joining_steps,
    list_wider_steps,
)
from headgate.decision.explain.goals import Goal, Need, list_goals
from headgate.decision.reference import find_paths
from headgate.decision.tree import subject_kind
from headgate.decision.types import Fix, Question, RequiredAssignment, RequiredMembership
from headgate.facts.caller import Caller
from headgate.facts.changes import MemberAdded, RoleAssigned
from headgate.facts.fold import fold
from headgate.facts.ids import PrincipalId, ResourceId, SubjectId
from headgate.facts.snapshot import NOTHING_HELD, Assignment, Snapshot
from headgate.model.model import Model

Option = tuple[FixStep, ...]
"""Changes to make together, in this order: assignments, then memberships."""

ADD_MEMBER = "group.add_member"

_MOST_TRIED = 100
_MOST_ASKED = 300
"""The most groups and teams about which it is asked whether the recipient may know them."""
_MOST_JOINED = 3
"""The most groups and teams to join that are listed besides the smallest fixes."""


@dataclass(frozen=True, slots=True)
class _At:
    """The question on some facts, and an evaluator for other questions on the same facts."""

    asked: EvaluationContext
    answers: Answers
    knows: Callable[[ResourceId], bool]
    """Whether the recipient of the fixes may know a resource, group or team; only steps beyond the question's resource ask."""

    @property
    def facts(self) -> Snapshot:
        """The facts."""
        return self.asked.facts

    def with_option(self, option: Option) -> "_At":
        """Return the question and evaluator on the facts with these assignments."""
        facts = fold(self.facts, option, self.facts.revision)
        return _At(replace(self.asked, facts=facts), self.answers.advance(option, facts), self.knows)

    def is_allowed(self, question: Question) -> bool:
        """Whether the decision is allow."""
        return self.answers.check(question, self.asked.now).allowed


def find_fixes(answers: Answers, question: Question, now: float, recipient: Caller | None = None) -> tuple[Fix, ...]:
    """Return the smallest fixes that users may make, and then the groups and teams of which joining one is a fix.

    The result is only for recipients that may see it (the caller, for their own question on visible resources; an owner; an
    admin). With `recipient`, it names no group or team to join that the recipient may not discover. Applying a fix to the
    snapshot makes the decision an allow, and applying a part of it does not. The changes are in an order in which they can
    be made.
    """
    facts = answers.facts
    knows = partial(answers.is_discoverable, recipient, now=now) if recipient else _knows_all
    at = _At(EvaluationContext(answers.models, facts, question, now), answers, knows)
    if (
        question.resource not in facts.resources
        or caller_invalid(facts, question.caller, now)
        or at.is_allowed(question)
    ):
        return ()
    goals = tuple(list_goals(at.asked))
    found = (_minimised(at, option) for option in _options(at, goals))
    working = dict.fromkeys(option for option in found if option)
    weakest = min((_strengths(at.asked, option) for option in working), default=())
    least = [option for option in working if _strengths(at.asked, option) == weakest]
    smallest = _narrowest(facts, least)
    joins = (option for option in _list_joins(at, goals) if option not in smallest)
    return tuple(_fix(at, option) for option in (*smallest, *islice(joins, _MOST_JOINED)))


def _options(at: _At, goals: Sequence[Goal]) -> Iterator[Option]:
    """Yield the smallest options for each goal; and the memberships that the subject of an assignment lacks."""
    solved: dict[Need, tuple[Option, ...]] = {}
    for goal in goals:
        yield from _list_options_for_goal(at, goal, solved)
    question, resource = at.asked.question, at.facts.resources[at.asked.question.resource]
    model, role = at.asked.model(resource), question.new_role or question.role
    if question.subject is not None and role is not None and model is not None:
        yield _add_memberships(at, model, RoleAssigned(question.subject, role, resource.id, model.name))[:-1]


def _list_joins(at: _At, goals: Sequence[Goal]) -> Iterator[Option]:
    """Yield each membership that is a fix alone, for each group or team the weakest one."""
    steps: dict[FixStep, None] = {}
    for need in dict.fromkeys(need for goal in goals for need in goal):
        resource = at.facts.resources.get(need.resource)
        model = at.asked.model(resource) if resource else None
        if resource and model and not _holds(at, need):
            for step in list_joining_steps(at.asked, model, resource, need.role):
                if _of_caller(at, step):
                    steps[step] = None
    joined = set[ResourceId]()
    for step in _known_steps(at, sorted(steps, key=partial(_size, at.facts))):
        if _place(step) not in joined and _works(at, (step,)) and _can_be_made(at, (step,)):
            joined.add(_place(step))
            yield (step,)


def _known_steps(at: _At, steps: Iterable[FixStep], known: Collection[ResourceId] = ()) -> Iterator[FixStep]:
    """Yield the steps on resources, and for subjects, that the recipient may know, as many as are tried."""
    asked = (each for each in islice(steps, _MOST_ASKED) if _is_subject_known(at, each))
    return islice((each for each in asked if _place(each) in known or at.knows(_place(each))), _MOST_TRIED)


def _size(facts: Snapshot, step: FixStep) -> tuple[int, str, str]:
    """Return how much a group or team gives, cheaply: the number of its assignments. The names make the order definite."""
    role = step.role if isinstance(step, RoleAssigned) else ""
    return len(facts.assignments.get(_place(step), NOTHING_HELD)), _place(step), role


def _is_subject_known(at: _At, step: FixStep) -> bool:
    return _of_caller(at, step) or (isinstance(step, RoleAssigned) and at.knows(ResourceId(step.subject)))


def _of_caller(at: _At, step: FixStep) -> bool:
    return not isinstance(step, RoleAssigned) or step.subject == at.asked.question.caller.principal


def _place(step: FixStep) -> ResourceId:
    """Return the resource that the step is about: that of the assignment, or the group."""
    return step.resource if isinstance(step, RoleAssigned) else ResourceId(step.group)


def _knows_all(_: ResourceId) -> bool:
    return True


def _list_options_for_goal(at: _At, goal: Goal, solved: dict[Need, tuple[Option, ...]]) -> Iterator[Option]:
    lacking = [need for need in goal if not _holds(at, need)]
    for need in lacking:
        if need not in solved:
            solved[need] = _list_options_for_need(at, need)
    # If a need can be met by several equally small options, there are as many equally small fixes.
    for each in zip(*(solved[need] for need in lacking), strict=False):
        together = dict.fromkeys(chain.from_iterable(each))
        yield tuple(sorted(together, key=lambda step: isinstance(step, MemberAdded)))


def _list_options_for_need(at: _At, need: Need) -> tuple[Option, ...]:
    """Return the smallest options that give the caller the role on the resource and that users may make."""
    resource = at.facts.resources.get(need.resource)
    model = at.asked.model(resource) if resource else None
    if resource is None or model is None:
        return ()
    direct = list_direct_steps(at.asked, model, resource, need.role)
    found = _find_smallest(at, model, need, _rank(at.asked, direct))
    if found:
        return found
    above = list_role_sources(at.facts, model, resource)
    wider = _rank(at.asked, dict.fromkeys(list_wider_steps(at.asked, model, resource, need.role)))
    known = frozenset(_known_steps(at, (step for *_, step in wider), above))
    return _find_smallest(at, model, need, [each for each in wider if each[-1] in known])


_Ranked = list[tuple[int, str, FixStep]]
"""Steps with their strengths, the weakest first; the text makes the order definite."""


def _rank(asked: EvaluationContext, steps: Iterable[FixStep]) -> _Ranked:
    return sorted((_strength(asked, step), f"{_place(step)} {step}", step) for step in steps)


def _find_smallest(at: _At, model: Model, need: Need, ranked: _Ranked) -> tuple[Option, ...]:
    for _, equals in groupby(ranked, key=lambda each: each[0]):
        options = [_add_memberships(at, model, step) for *_, step in equals]
        working = [each for each in options if _holds(at.with_option(each), need) and _can_be_made(at, each)]
        if working:
            return _narrowest(at.facts, working)
    return ()


def _add_memberships(at: _At, model: Model, given: FixStep) -> Option:
    """Return the step; an assignment is preceded by the weakest memberships that it requires (`standing`) and its subject lacks."""
    if isinstance(given, MemberAdded):
        return (given,)
    facts, subject = at.facts, given.subject
    kind = subject_kind(facts, subject)
    before: list[FixStep] = []
    for rule in model.standing:
        if not meets_membership(at.asked, model, rule, subject, kind, given.role, given.resource):
            anchor = next(each for each in facts.ancestors(given.resource) if each.type == rule.on)
            known = (role for role in list_assignable_roles(facts, model, anchor.type, kind) if role in rule.roles)
            entries = [RoleAssigned(subject, role, anchor.id, model.name) for role in known]
            entries.sort(key=lambda entry: (_strength(at.asked, entry), entry.role))
            options = (_add_memberships(at, model, entry) for entry in entries)
            before += next((option for option in options if _can_be_made(at, option)), ())
    return (*before, given)


def _can_be_made(at: _At, option: Option) -> bool:
    return all(any(_find_approvers(*step)) for step in _steps(at, option))


def _find_approvers(at: _At, step: FixStep) -> Iterator[PrincipalId]:
    """Yield the users who may make this change; each is computed only when requested."""
    return _find_grantors(at, step) if isinstance(step, RoleAssigned) else _find_group_managers(at, step)


def _find_group_managers(at: _At, added: MemberAdded) -> Iterator[PrincipalId]:
    facts = at.facts
    group = facts.resources.get(ResourceId(added.group))
    model = at.asked.model(group) if group else None
    if group is None or model is None:
        return
    wanted = {*model.roles_granting(ADD_MEMBER)}
    wanted |= {needed.role for way in model.needs.get(ADD_MEMBER, ()) for needed in way.roles}
    who = set[PrincipalId]().union(
        *(candidate_principals(at.asked, place, wanted) for place in (group, facts.resources[group.parent]))
    )
    for user in sorted(id for id in who if facts.principals[id].kind == "user"):
        if at.is_allowed(Question(Caller(user), ADD_MEMBER, group.id, subject=added.principal)):
            yield user


def _find_grantors(at: _At, given: RoleAssigned) -> Iterator[PrincipalId]:
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


def _steps(at: _At, option: Option) -> Iterator[tuple[_At, FixStep]]:
    """Yield each change with the facts on which it will be made."""
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
    """Return the strengths of the option's steps, the strongest first."""
    return tuple(sorted({_strength(asked, step) for step in option}, reverse=True))


def _strength(asked: EvaluationContext, step: FixStep) -> int:
    """Return the number of actions that the step gives: those of a role where it is assigned and where it spreads.

    Joining a group or team gives all that it holds.
    """
    if isinstance(step, MemberAdded):
        return _count_held_actions(asked, step.group)
    given = Assignment(step.subject, step.role, step.resource, step.model, None, None)
    is_team = asked.facts.resources[step.resource].type in asked.models[step.model].members
    return _count_actions(asked, given) + (_count_held_actions(asked, step.resource) if is_team else 0)


def _count_held_actions(asked: EvaluationContext, subject: SubjectId) -> int:
    held = asked.facts.assignments.get(subject, NOTHING_HELD).values()
    counted = (each for each in held if each.model in asked.models and each.resource in asked.facts.resources)
    return sum(_count_actions(asked, each) for each in counted)


def _count_actions(asked: EvaluationContext, given: Assignment) -> int:
    facts, model = asked.facts, asked.models[given.model]
    roles = expand_assignment(asked, model, given, facts.resources[given.resource])
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
    for step in option:
        places = [step.resource] if isinstance(step, RoleAssigned) else _list_places(facts, step.group)
        for place in places:
            yield place
            yield from facts.list_below(place)


def _list_places(facts: Snapshot, group: SubjectId) -> list[ResourceId]:
    held = facts.assignments.get(group, NOTHING_HELD).values()
    return sorted({each.resource for each in held if each.resource in facts.resources})


def _fix(at: _At, option: Option) -> Fix:
    first = next(
        (step.subject for step in option if isinstance(step, RoleAssigned)), at.asked.question.caller.principal
    )
    assignments, memberships = list[RequiredAssignment](), list[RequiredMembership]()
    for now, step in _steps(at, option):
        approvers = tuple(_find_approvers(now, step))
        if isinstance(step, MemberAdded):
            memberships.append(RequiredMembership(step.group, approvers))
        else:
            subject = None if step.subject == first else step.subject
            assignments.append(RequiredAssignment(step.role, step.resource, approvers, subject))
    return Fix(first, tuple(assignments), tuple(memberships))
