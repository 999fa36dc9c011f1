"""What differs between two states: two models on the same facts, or two revisions, each with its model and its time."""

from headgate.decision.diff.compare import Moment, effects
from headgate.decision.diff.impact import EVERYTHING
from headgate.decision.diff.pipelines import every_pipeline, pipeline_effects
from headgate.decision.diff.results import Consequences


def difference(before: Moment, after: Moment) -> Consequences:
    """Return every decision that the two answer differently, of whoever and about whatever is there in either."""
    found = effects(before, after, (EVERYTHING,))
    pipelines = every_pipeline(before.answers.facts) | every_pipeline(after.answers.facts)
    return Consequences(found, pipeline_effects(before, after, found, pipelines))
