"""The engine and the reference agree under the shipped models, each combined with the model of the ownership tree."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.decision.engine.engine import Engine
from headgate.decision.evaluator import Reference
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.changes import Change, GovernedBy
from headgate.facts.fold import fold
from headgate.facts.ids import PrincipalId
from headgate.model.model import Model
from tests.fakes.generated_histories import BEGUN, NOW, ROOT, histories
from tests.fakes.generated_models import HOME, OTHER
from tests.fakes.small_organization import DATAMESH, NEKT, ONEHOUSE, Y42

assert DATAMESH.custom_roles
PERMISSIONS = tuple(sorted(DATAMESH.custom_roles.of))


def _assignable(*models: Model) -> tuple[str, ...]:
    return tuple(role.name for model in models for role in model.roles.values() if role.on)


@pytest.mark.parametrize("home", [NEKT, Y42, ONEHOUSE, DATAMESH], ids=lambda model: model.name)
@settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.data(), st.sampled_from(NOW))
def test_the_engine_answers_as_the_reference_does_under_shipped_models(
    home: Model, data: st.DataObject, now: float
) -> None:
    models = {HOME: replace(home, name=HOME), OTHER: replace(DATAMESH, name=OTHER)}
    tree = [GovernedBy(ROOT, OTHER, "")]
    history: list[list[Change]] = data.draw(histories(2, _assignable(home, home, DATAMESH), PERMISSIONS))
    facts, engine = BEGUN, Engine(models, BEGUN)
    for batch in (tree, *history):
        facts = fold(facts, batch, facts.revision + 1)
        engine = engine.advance(batch, facts)
        _agrees(engine, now)


def _agrees(engine: Engine, now: float) -> None:
    """Compare the answers on every action on every resource for every principal."""
    facts, reference = engine.facts, Reference(engine.models, engine.facts)
    for id, resource in facts.resources.items():
        for action in sorted({each for model in engine.models.values() for each in model.actions_on(resource.type)}):
            asked = [Question(Caller(who), action, id) for who in (*facts.principals, PrincipalId("m1"))]
            allowed = {each.caller.principal for each in asked if reference.check(each, now).allowed}
            assert {each.caller.principal for each in asked if engine.check(each, now).allowed} == allowed, (action, id)
            assert engine.list_principals(action, id, now) == {who for who in allowed if who in facts.principals}, (
                action,
                id,
            )
            for each in asked:
                found = engine.list_resources(each.caller, action, now)
                assert (id in found) == (each.caller.principal in allowed), each
