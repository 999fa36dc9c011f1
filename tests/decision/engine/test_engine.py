"""The engine against the reference, over generated models, histories and questions."""

import functools
from collections.abc import Mapping

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.decision.engine.engine import Engine
from headgate.decision.reference import decide, is_discoverable
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.changes import AttributesSet, Change, ResourceCreated, RoleAssigned
from headgate.facts.fold import apply, fold
from headgate.facts.ids import PrincipalId
from headgate.facts.snapshot import SUSPENDED, Snapshot
from headgate.model.model import Model
from tests.fakes.generated_histories import ACTIONS, BEGUN, NOW, ROOT, SENSIBLE, callers, histories, questions
from tests.fakes.generated_models import DENSE, model_sets
from tests.fakes.generated_worlds import GONE, PRINCIPALS, WORLDS
from tests.fakes.generated_worlds import questions as small_questions
from tests.fakes.small_organization import LAKE, MODELS, NEKT, OTHER, RAW, SALARIES
from tests.fakes.small_organization import snapshot as small_snapshot

pytestmark = pytest.mark.timeout(300)

Models = Mapping[str, Model]

WHO = tuple(PrincipalId(id) for id in ("u1", "s1", "m1"))
MATRIX = tuple(Question(Caller(who), action, id) for who in WHO for action, id in SENSIBLE)

many = settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
"""The same examples at every run, so that a failure is reproducible on every machine."""


def _after(history: list[list[Change]]) -> Snapshot:
    return fold(BEGUN, [change for batch in history for change in batch], 1)


@many
@given(model_sets(), histories(), st.lists(questions(), min_size=1, max_size=8), st.sampled_from(NOW))
def test_the_engine_decides_as_the_reference_does(
    models: Models, history: list[list[Change]], asked: list[Question], now: float
) -> None:
    facts = _after(history)
    engine = Engine(models, facts)

    for question in (*asked, *MATRIX, *MATRIX):
        assert engine.check(question, now).allowed == decide(models, facts, question, now).allowed, question
    assert engine.check_many(asked, now) == tuple(engine.check(each, now) for each in asked)


@many
@given(WORLDS, small_questions(st.sampled_from(PRINCIPALS).map(Caller)))
def test_an_assignment_on_a_missing_resource_grants_nothing(facts: Snapshot, question: Question) -> None:
    facts = functools.reduce(apply, [RoleAssigned(each, "viewer", GONE, NEKT.name) for each in PRINCIPALS], facts)
    engine = Engine(MODELS, facts)

    assert engine.check(question, 0.0).allowed == decide(MODELS, facts, question, 0.0).allowed
    assert GONE not in engine.list_resources(question.caller, question.action, 0.0)
    assert engine.list_principals(question.action, GONE, 0.0) == frozenset()


@pytest.mark.parametrize("type", ["table", "database"])
def test_an_assignment_on_a_missing_resource_counts_once_the_resource_is_created(type: str) -> None:
    before = apply(small_snapshot(), RoleAssigned(OTHER, "viewer", GONE, NEKT.name))
    question = Question(Caller(OTHER), f"{type}.describe", GONE)
    engine, created = Engine(MODELS, before), ResourceCreated(GONE, type, LAKE if type == "database" else RAW, "gone")
    assert not engine.check(question, 0.0).allowed
    assert not engine.check(Question(Caller(OTHER), "table.describe", SALARIES), 0.0).allowed

    after = apply(before, created)
    assert engine.advance([created], after).check(question, 0.0).allowed
    assert decide(MODELS, after, question, 0.0).allowed


@many
@given(model_sets(), histories(), callers(), st.sampled_from(NOW))
def test_listed_resources_are_those_that_the_reference_allows(
    models: Models, history: list[list[Change]], caller: Caller, now: float
) -> None:
    facts = _after(history)
    engine = Engine(models, facts)

    for action in ACTIONS:
        found = engine.list_resources(caller, action, now)
        allowed = {id for id in facts.resources if decide(models, facts, Question(caller, action, id), now).allowed}
        assert set(found) == allowed, action
        assert len(found) == len(allowed), action


@many
@given(model_sets(), histories(), st.sampled_from(NOW))
def test_listed_principals_are_those_that_the_reference_allows(
    models: Models, history: list[list[Change]], now: float
) -> None:
    facts = _after(history)
    engine = Engine(models, facts)

    for action, id in SENSIBLE:
        allowed = {
            who for who in facts.principals if decide(models, facts, Question(Caller(who), action, id), now).allowed
        }
        assert engine.list_principals(action, id, now) == allowed, (action, id)


@many
@given(model_sets(), histories(), callers(), st.sampled_from(NOW))
def test_discoverable_resources_are_those_of_the_reference(
    models: Models, history: list[list[Change]], caller: Caller, now: float
) -> None:
    facts = _after(history)
    engine = Engine(models, facts)

    for id in BEGUN.resources:
        assert engine.is_discoverable(caller, id, now) == is_discoverable(models, facts, caller, id, now), id


@many
@given(
    model_sets(),
    histories(6),
    st.lists(questions(), max_size=4),
    st.lists(st.sampled_from(NOW), min_size=7, max_size=7),
)
def test_an_advanced_engine_answers_as_a_fresh_one(
    models: Models, history: list[list[Change]], asked: list[Question], times: list[float]
) -> None:
    _advances(models, history, asked, times)


@many
@given(histories(15), st.lists(questions(), max_size=4), st.lists(st.sampled_from(NOW), min_size=16, max_size=16))
def test_an_advanced_engine_answers_as_a_fresh_one_under_a_dense_model(
    history: list[list[Change]], asked: list[Question], times: list[float]
) -> None:
    _advances(DENSE, history, asked, times)


@many
@given(model_sets(), histories(), st.sampled_from(NOW))
def test_a_suspended_organization_allows_nothing_until_it_is_resumed(
    models: Models, history: list[list[Change]], now: float
) -> None:
    facts = _after(history)
    root = facts.resources[ROOT]
    suspension = AttributesSet(ROOT, {**root.attributes, SUSPENDED: ("true",)})
    resumption = AttributesSet(ROOT, root.attributes)
    engine = Engine(models, facts)
    before = _ask_everything(engine, [], now)

    suspended = engine.advance([suspension], fold(facts, [suspension], 2))
    nothing = _ask_everything(suspended, [], now)
    resumed = suspended.advance([resumption], fold(suspended.facts, [resumption], 3))

    for question in MATRIX:
        assert not suspended.check(question, now).allowed
        assert not decide(models, suspended.facts, question, now).allowed
        assert not is_discoverable(models, suspended.facts, question.caller, question.resource, now)
        assert suspended.list_principals(question.action, question.resource, now) == frozenset()
        assert suspended.list_resources(question.caller, question.action, now) == ()
    assert nothing == _ask_everything(Engine(models, suspended.facts), [], now)
    assert _ask_everything(resumed, [], now) == before


@pytest.mark.soak
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("_piece", [1, 2, 3])
@settings(many, max_examples=500, derandomize=False, print_blob=True)
@given(
    models=st.just(DENSE) | model_sets(),
    history=histories(10),
    asked=st.lists(questions(), max_size=8),
    times=st.lists(st.sampled_from(NOW)),
)
def test_an_advanced_engine_answers_as_a_fresh_one_over_many_histories(
    _piece: int, models: Models, history: list[list[Change]], asked: list[Question], times: list[float]
) -> None:
    _advances(models, history, asked, [*times, *NOW * 3])


def _advances(models: Models, history: list[list[Change]], asked: list[Question], times: list[float]) -> None:
    """Ask each engine all questions before it is advanced, and then both engines in turn."""
    facts, engine = BEGUN, Engine(models, BEGUN)
    for batch, now in zip(history, times, strict=False):
        before, was = engine, _ask_everything(engine, asked, now)
        facts = fold(facts, batch, facts.revision + 1)
        engine = engine.advance(batch, facts)

        expected = _ask_everything(Engine(models, facts), asked, now)
        assert _ask_everything(engine, asked, now) == expected
        assert _ask_everything(before, asked, now) == was
        assert _ask_everything(engine, asked, now) == expected


def _ask_everything(engine: Engine, asked: list[Question], now: float) -> dict[object, object]:
    """Return the answers of an engine to every kind of question."""
    people = (*engine.facts.principals, PrincipalId("m1"))
    plain = [Question(Caller(who), action, id) for who in people for action, id in SENSIBLE]
    return {
        **{str(each): engine.check(each, now).allowed for each in (*asked, *plain)},
        **{
            (who, action): frozenset(engine.list_resources(Caller(who), action, now))
            for who in people
            for action in ACTIONS
        },
        **{(action, id): engine.list_principals(action, id, now) for action, id in SENSIBLE},
    }
