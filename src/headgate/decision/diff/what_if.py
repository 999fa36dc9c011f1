"""What would follow from changes: which decisions would be others, for whom, and which pipelines would break or open."""

from collections.abc import Sequence

from headgate.decision.diff.compare import Moment, effects
from headgate.decision.diff.impact import EVERYTHING, Scope, affected
from headgate.decision.diff.pipelines import every_pipeline, pipeline_effects, rewritten, touching
from headgate.decision.diff.results import Consequences
from headgate.decision.evaluator import Answers
from headgate.facts.changes import Change
from headgate.facts.fold import apply


def difference(before: Moment, after: Moment) -> Consequences:
    """Return every decision that the two answer differently, of whoever and about whatever is there in either."""
    found = effects(before, after, (EVERYTHING,))
    pipelines = every_pipeline(before.answers.facts) | every_pipeline(after.answers.facts)
    return Consequences(found, pipeline_effects(before, after, found, pipelines))


def what_if(answers: Answers, changes: Sequence[Change], now: float) -> Consequences:
    """Return what would differ if these changes were written now (seconds since the epoch).

    Only what they can concern is asked about. Raises `KeyError` for a change about something that is not there.
    """
    scopes, facts = list[Scope](), answers.facts
    for change in changes:
        before, facts = facts, apply(facts, change)
        scopes += affected(answers.models, before, facts, change)
    earlier, later = Moment(answers, now), Moment(answers.advance(changes, facts), now)
    found = effects(earlier, later, scopes)
    pipelines = touching(earlier, later, found) | rewritten(changes)
    return Consequences(found, pipeline_effects(earlier, later, found, pipelines))
