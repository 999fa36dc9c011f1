"""Explanations of decisions: reasons and fixes, for callers that may know the resources of the question."""

from dataclasses import replace

from headgate.decision.caller_validity import caller_invalid
from headgate.decision.context import EvaluationContext, Models
from headgate.decision.effective_assignments import find_acting_team, list_subjects
from headgate.decision.engine.engine import Engine
from headgate.decision.evaluator import Answers
from headgate.decision.explain.fixes import find_fixes
from headgate.decision.reference import ASSIGNING, decide
from headgate.decision.types import Decision, DenyReason, Explanation, Fix, GrantPath, Question
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import NOTHING_HELD, Resource, Snapshot

ACTING, NO_MEMBER = "acting", "acting without membership"
"""The words of a denial if a role is missing because only the team counts in which the caller's token acts.

The second one is for a caller that is not a member of the team any more.
"""


def explain(
    models: Models, facts: Snapshot, question: Question, now: float, answers: Answers | None = None
) -> Explanation:
    """Decide a question with its reasons: all paths that allow it, or what is missing and the smallest fixes.

    A caller that may not discover a resource of the question gets the same explanation as for a name that does not
    exist. An action that no model has is unknown on every resource, so that answer reveals none. `answers` is an evaluator of these facts that may have cached decisions.
    """
    answers = answers or Engine(models, facts)
    asked = EvaluationContext(models, facts, question, now)
    decision = _name_acting(asked, decide(models, facts, question, now))
    visible = all(answers.is_discoverable(question.caller, id, now) for id in _list_concerned(asked))
    if decision.allowed:
        return Explanation(decision, visible)
    if _is_unknown(models, question.action) and not caller_invalid(facts, question.caller, now):
        unknown = DenyReason("unknown-action", question.resource)
        return Explanation(decision._replace(missing=unknown), visible)
    if visible:
        return Explanation(decision, visible, find_fixes(answers, question, now, question.caller))
    return Explanation(decision if _is_common_knowledge(asked) else _hidden(decision), visible)


def is_subject_known(answers: Answers, path: GrantPath, recipient: Caller, now: float) -> bool:
    """Whether the recipient of an explanation may know the subject of a path.

    A principal knows the groups and teams of which it is a member itself. The teams of which these are members, it may know
    only if it may discover them.
    """
    facts, team = answers.facts, ResourceId(path.subject)
    own = {recipient.principal, *facts.groups_of(recipient.principal)}
    own |= {place for subject in tuple(own) for _, place, _ in facts.assignments.get(subject, NOTHING_HELD)}
    return team in own or team not in facts.resources or answers.is_discoverable(recipient, team, now)


def smallest_fixes(
    models: Models,
    facts: Snapshot,
    question: Question,
    now: float,
    answers: Answers | None = None,
    recipient: Caller | None = None,
) -> tuple[Fix, ...]:
    """Return the fixes, without a check of visibility: the recipient must be allowed to see them.

    With `recipient`, they name no group or team to join that the recipient may not discover.
    """
    return find_fixes(answers or Engine(models, facts), question, now, recipient)


def find_end(facts: Snapshot, path: GrantPath) -> float | None:
    """Return when the assignment of a path ends (seconds since the epoch); None if it has no end, or is a relation."""
    held = facts.assignments.get(path.subject, NOTHING_HELD).get((path.assigned_role, path.assigned_on, path.reason))
    return held.ends if held else None


def _name_acting(asked: EvaluationContext, decision: Decision) -> Decision:
    """Return the decision; a denial for a missing role names it if only the roles of the team counted in which the token acts."""
    missing, resource = decision.missing, asked.facts.resources.get(asked.question.resource)
    model = asked.model(resource) if resource else None
    team = find_acting_team(asked, model) if model else None
    if missing is None or missing.code != "no-role" or model is None or team is None:
        return decision
    is_member = team in list_subjects(asked, model, asked.question.caller.principal)
    return decision._replace(missing=replace(missing, what=ACTING if is_member else NO_MEMBER))


def _is_unknown(models: Models, action: str) -> bool:
    """Whether no model in force has the action on any type."""
    type = action.partition(".")[0]
    return action not in ASSIGNING and not any(action in model.actions_on(type) for model in models.values())


def _list_concerned(asked: EvaluationContext) -> tuple[ResourceId, ...]:
    """Return the resources that must be visible: the question's own, unless no role on it is required, and all it names."""
    facts, question = asked.facts, asked.question
    concerned = (id for ids in question.on.values() for id in ids)
    named = tuple(id for id in concerned if id in facts.resources or id not in facts.principals)
    resource = facts.resources.get(question.resource)
    model = asked.model(resource) if resource else None
    here = not named or model is None or bool(model.roles_granting(question.action))
    return (question.resource, *named) if here else named


def _is_common_knowledge(asked: EvaluationContext) -> bool:
    """Whether all members know the resource: it is the root, or an implicit one, and the question names no other."""
    resource = asked.facts.resources.get(asked.question.resource)
    return resource is not None and not asked.question.on and _always_there(asked, resource)


def _always_there(asked: EvaluationContext, resource: Resource) -> bool:
    model = asked.model(resource)
    return resource.parent == resource.id or (model is not None and model.types[resource.type].implicit)


def _hidden(decision: Decision) -> Decision:
    return decision._replace(missing=DenyReason("no-resource", decision.question.resource))
