"""Effective assignments: those that count for the caller, and the roles of the model that each gives now."""

from collections.abc import Iterable, Iterator

from headgate.decision.conditions import holds
from headgate.decision.context import EvaluationContext
from headgate.decision.tree import subject_kind
from headgate.facts.ids import PrincipalId, ResourceId, SubjectId
from headgate.facts.snapshot import NO_SUBJECTS, NOTHING_HELD, Assignment, Resource
from headgate.model.model import MembershipRequirement, Model


def expand_assignment(asked: EvaluationContext, model: Model, given: Assignment, origin: Resource) -> frozenset[str]:
    """Return the roles of the model that an assignment gives now: its own, or those of a custom role."""
    case, role, custom = asked.condition_input(model, origin), model.roles.get(given.role), model.custom_roles
    defined = custom is not None and origin.type in custom.on and holds(custom.when, case)
    replaced = defined and custom is not None and given.role in custom.replaces
    own = role is not None and not replaced and origin.type in role.on and holds(role.when, case)
    # Another version of the model may lack a role of which a custom role consists.
    roles = (
        asked.facts.custom_roles.get(given.role, frozenset[str]()) & model.roles.keys() if defined else frozenset[str]()
    )
    return roles | {given.role} if own else roles


def effective_assignments(asked: EvaluationContext, model: Model) -> Iterator[Assignment]:
    """Yield the assignments to the caller, its groups and its teams that count now under the model."""
    facts, principal = asked.facts, asked.question.caller.principal
    if asked.listed is not None:
        there = [id for id in asked.listed if id in facts.resources]
        yield from (Assignment(principal, role, id, model.name, None, None) for id in there for role in model.roles)
        return
    kind, team = subject_kind(facts, principal), find_acting_team(asked, model)
    own = tuple(list_subjects(asked, model, principal))
    subjects = own
    if team is not None:
        subjects = tuple(each for each in list_subjects(asked, model, team) if each in own) if team in own else ()
    for given in _list_given(asked, model, subjects):
        if all(
            meets_membership(asked, model, rule, principal, kind, given.role, given.resource) for rule in model.standing
        ):
            yield given


def find_acting_team(asked: EvaluationContext, model: Model) -> ResourceId | None:
    """Return the team in which the caller's token acts, if the model says that it matters for the action."""
    caller, action = asked.question.caller, asked.question.action
    token = asked.facts.tokens.get(caller.token) if caller.token and action in model.acting else None
    return token.acts_in if token else None


def list_subjects(asked: EvaluationContext, model: Model, subject: SubjectId) -> Iterator[SubjectId]:
    """Yield the subject, its groups, its teams, and the teams of which these teams are members."""
    subjects, seen, is_team = [subject, *asked.facts.groups_of(PrincipalId(subject))], {subject}, False
    while subjects:
        found = tuple(_list_given(asked, model, subjects))
        yield from subjects
        subjects = sorted(
            {each.resource for each in found if _makes_member(asked, model, each, is_team=is_team)} - seen
        )
        seen.update(subjects)
        is_team = True


def _makes_member(asked: EvaluationContext, model: Model, given: Assignment, *, is_team: bool) -> bool:
    """Whether the assignment makes its subject, a team or not, a member of the resource on which it is."""
    origin = asked.facts.resources[given.resource]
    counting = model.members.get(origin.type)
    if counting is None:
        return origin.type in model.members and not is_team
    return bool(counting & expand_assignment(asked, model, given, origin))


def _list_given(asked: EvaluationContext, model: Model, subjects: Iterable[SubjectId]) -> Iterator[Assignment]:
    assignments = asked.facts.assignments
    return _select_live(
        asked, model, (each for subject in subjects for each in assignments.get(subject, NOTHING_HELD).values())
    )


def _select_live(asked: EvaluationContext, model: Model, assigned: Iterable[Assignment]) -> Iterator[Assignment]:
    """Yield those of the assignments that are of the model and count now."""
    for given in assigned:
        if given.model == model.name and given.holds_at(asked.now) and given.resource in asked.facts.resources:
            yield given


def meets_membership(
    asked: EvaluationContext,
    model: Model,
    rule: MembershipRequirement,
    subject: SubjectId,
    kind: str,
    role: str,
    place: ResourceId,
) -> bool:
    """Whether a subject meets a membership requirement (`standing`) for a role on a place."""
    if role in rule.exempt or kind not in rule.kinds:
        return True
    anchor = next((each.id for each in asked.facts.ancestors(place) if each.type == rule.on), None)
    if anchor is None:
        return True
    # Most subjects meet it themselves: only for the others, their teams are searched.
    return _holds_on(asked, model, rule, anchor, subject) or any(
        _holds_on(asked, model, rule, anchor, each) for each in list_subjects(asked, model, subject)
    )


def _holds_on(
    asked: EvaluationContext, model: Model, rule: MembershipRequirement, place: ResourceId, subject: SubjectId
) -> bool:
    """Whether an assignment to exactly this subject, on this place, meets a membership requirement."""
    held = asked.facts.assignments.get(subject, NOTHING_HELD)
    keys = asked.facts.assignments_on.get(place, NO_SUBJECTS).keys_of(subject)
    return any(given.role in rule.roles for given in _select_live(asked, model, (held[key] for key in keys)))
