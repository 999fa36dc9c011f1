"""Why, or why not, and what would change it: to somebody who may know what the question is about."""

from headgate.decision.context import EvaluationContext, Models
from headgate.decision.engine.engine import Engine
from headgate.decision.evaluator import Answers
from headgate.decision.explain.fixes import find_fixes
from headgate.decision.reference import decide
from headgate.decision.types import Decision, DenyReason, Explanation, Fix, Question
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Resource, Snapshot


def explain(
    models: Models, facts: Snapshot, question: Question, now: float, answers: Answers | None = None
) -> Explanation:
    """Answer a question in full: every way that allows it, or what is missing and the smallest fixes.

    Who may not discover what it is decided on is told what would be told of a name that does not exist. `answers`
    answers on these facts and knows some answers already.
    """
    answers = answers or Engine(models, facts)
    decision = decide(models, facts, question, now)
    asked = EvaluationContext(models, facts, question, now)
    visible = all(answers.is_discoverable(question.caller, id, now) for id in _list_concerned(asked))
    if decision.allowed:
        return Explanation(decision, visible)
    if visible:
        return Explanation(decision, visible, find_fixes(answers, question, now))
    return Explanation(decision if _is_common_knowledge(asked) else _hidden(decision), visible)


def smallest_fixes(
    models: Models, facts: Snapshot, question: Question, now: float, answers: Answers | None = None
) -> tuple[Fix, ...]:
    """Return the smallest assignments that would allow, for somebody who may see the answer whoever it is about."""
    return find_fixes(answers or Engine(models, facts), question, now)


def _list_concerned(asked: EvaluationContext) -> tuple[ResourceId, ...]:
    """Return the named resources too; and only these where no role on the resource itself is asked for."""
    facts, question = asked.facts, asked.question
    concerned = (id for ids in question.on.values() for id in ids)
    named = tuple(id for id in concerned if id in facts.resources or id not in facts.principals)
    resource = facts.resources.get(question.resource)
    model = asked.model(resource) if resource else None
    here = not named or model is None or bool(model.roles_granting(question.action))
    return (question.resource, *named) if here else named


def _is_common_knowledge(asked: EvaluationContext) -> bool:
    """Say whether it is about nothing but what everybody knows: where they are, and what a model always puts there."""
    resource = asked.facts.resources.get(asked.question.resource)
    return resource is not None and not asked.question.on and _always_there(asked, resource)


def _always_there(asked: EvaluationContext, resource: Resource) -> bool:
    model = asked.model(resource)
    return resource.parent == resource.id or (model is not None and model.types[resource.type].implicit)


def _hidden(decision: Decision) -> Decision:
    return decision._replace(missing=DenyReason("no-resource", decision.question.resource))
