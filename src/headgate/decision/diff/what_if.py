"""Preview of changes (what-if analysis): the decisions that changes would alter, for which principals, and the pipelines that would break or open."""

from collections.abc import Sequence

from headgate.decision.diff.compare import EvaluatedSide, compare
from headgate.decision.diff.impact import WHOLE_SCOPE, Scope, find_scopes
from headgate.decision.diff.pipelines import (
    find_all_pipelines,
    find_rewritten_pipelines,
    find_touching_pipelines,
    pipeline_effects,
)
from headgate.decision.diff.results import Impact
from headgate.decision.evaluator import Answers
from headgate.facts.changes import Change
from headgate.facts.fold import apply


def compute_difference(before: EvaluatedSide, after: EvaluatedSide) -> Impact:
    """Return every decision that differs between the two, for all principals and resources of either."""
    found = compare(before, after, (WHOLE_SCOPE,))
    pipelines = find_all_pipelines(before.answers.facts) | find_all_pipelines(after.answers.facts)
    return Impact(found, pipeline_effects(before, after, found, pipelines))


def analyze_changes(answers: Answers, changes: Sequence[Change], now: float) -> Impact:
    """Return the differences if these changes were written now (seconds since the epoch).

    Only decisions that the changes can alter are compared. Raises `KeyError` for a change that refers to something
    that does not exist.
    """
    scopes, facts = list[Scope](), answers.facts
    for change in changes:
        before, facts = facts, apply(facts, change)
        scopes += find_scopes(answers.models, before, facts, change)
    earlier, later = EvaluatedSide(answers, now), EvaluatedSide(answers.advance(changes, facts), now)
    found = compare(earlier, later, scopes)
    pipelines = find_touching_pipelines(earlier, later, found) | find_rewritten_pipelines(earlier, later, changes)
    return Impact(found, pipeline_effects(earlier, later, found, pipelines))
