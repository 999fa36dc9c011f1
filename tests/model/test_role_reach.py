"""The checker's analysis of role reach: a role that it calls impossible is never held, since both follow the same rules."""

from collections.abc import Sequence

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from headgate.decision.context import EvaluationContext
from headgate.decision.reference import find_paths
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.changes import Change
from headgate.facts.fold import fold
from headgate.model.model import Model
from headgate.model.role_reach import compute_role_reach
from tests.fakes.generated_histories import BEGUN, NOW, PRINCIPALS, histories
from tests.fakes.generated_models import DENSE, HOME, TYPES, models
from tests.fakes.generated_worlds import few


@settings(few, max_examples=60)
@given(models(HOME) | st.just(DENSE[HOME]), histories(), st.sampled_from(NOW))
def test_a_role_is_held_only_where_the_checker_says_that_it_can_be(
    model: Model, history: Sequence[Sequence[Change]], now: float
) -> None:
    """A diagnostic that says `never` is true for every organization whose tree follows the model."""
    assume(model.types.keys() == TYPES.keys())
    facts = fold(BEGUN, [change for batch in history for change in batch], 1)
    assume(all(_lies_right(facts.resources[each.parent].type, each.type) for each in facts.resources.values()))
    possible = compute_role_reach(model).held

    for resource in facts.resources.values():
        for principal in PRINCIPALS:
            asked = EvaluationContext({HOME: model}, facts, Question(Caller(principal), "", resource.id), now)
            for path in find_paths(asked, resource):
                assert resource.type in possible[path.role]


def _lies_right(parent: str, type: str) -> bool:
    return parent in TYPES[type] or (not TYPES[type] and parent == type)
