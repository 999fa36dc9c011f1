"""The analysis of changes, and the difference of two states: they report all changed decisions, and no others."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.decision.context import Models
from headgate.decision.diff import impact
from headgate.decision.diff.compare import EvaluatedSide, compare
from headgate.decision.diff.results import Ability, DecisionChange, Impact, SubjectImpact
from headgate.decision.diff.what_if import analyze_changes, compute_difference
from headgate.decision.engine.engine import Engine
from headgate.decision.evaluator import Answers, Reference
from headgate.decision.reference import decide
from headgate.decision.types import Decision, Question
from headgate.facts.caller import Caller
from headgate.facts.changes import (
    AttributesSet,
    Change,
    Edge,
    MemberAdded,
    PrincipalRemoved,
    RelationsSet,
    ResourceCreated,
    ResourceDeleted,
    RoleRevoked,
    RunAsSet,
)
from headgate.facts.fold import fold
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Snapshot
from headgate.model.model import Model
from tests.fakes.generated_histories import BEGUN, histories
from tests.fakes.generated_histories import NOW as TIMES
from tests.fakes.generated_models import model_sets
from tests.fakes.small_organization import (
    ADMIN,
    CREW,
    DELAYS,
    FLIGHTS,
    LAKE,
    LOAD,
    MEMBER,
    MODELS,
    NEKT,
    NOW,
    OTHER,
    PLANES,
    RAW,
    SALARIES,
    assigned,
    edges,
    snapshot,
)

several = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)


def asked(answers: Answers, now: float) -> Mapping[tuple[str, Ability, str], bool]:
    """Return every possible decision, asked one by one."""
    facts, models = answers.facts, answers.models
    found: dict[tuple[str, Ability, str], bool] = {}
    for id, resource in facts.resources.items():
        for ability in every_ability(models, facts, resource.type):
            for who in facts.principals:
                subject = who if ability.role else None
                question = Question(Caller(who), ability.action, id, role=ability.role or None, subject=subject)
                found[who, ability, id] = answers.check(question, now).allowed
    return found


def every_ability(models: Mapping[str, Model], facts: Snapshot, type: str) -> Iterator[Ability]:
    yield from {Ability(action) for model in models.values() for action in model.actions_on(type)}
    roles = {role for model in models.values() for role in model.roles} | set(facts.custom_roles)
    for role in sorted(roles):
        yield Ability("assignment.add", role)
        yield Ability("assignment.remove", role)


def differing(before: Answers, after: Answers, now: float) -> set[DecisionChange]:
    """Return the decisions that differ; a question about a missing resource is denied."""
    was, will_be = asked(before, now), asked(after, now)
    return {
        DecisionChange(who, ability, id, allowed=will_be.get((who, ability, id), False))  # type: ignore[arg-type]
        for who, ability, id in was.keys() | will_be.keys()
        if was.get((who, ability, id), False) != will_be.get((who, ability, id), False)
    }


def state(batches: Sequence[Sequence[Change]]) -> Snapshot:
    return fold(BEGUN, (change for batch in batches for change in batch), 1)


@pytest.mark.timeout(600)
@several
@given(model_sets(), histories(), st.sampled_from(TIMES))
def test_the_impact_equals_the_difference_of_all_decisions(
    models: Mapping[str, Model], batches: list[list[Change]], now: float
) -> None:
    facts, changes = state(batches[:-1]), batches[-1]
    before, after = Reference(models, facts), Reference(models, fold(facts, changes, 2))

    assert set(analyze_changes(Engine(models, facts), changes, now).flips()) == differing(before, after, now)


@pytest.mark.timeout(600)
@several
@given(model_sets(), histories(), st.sampled_from(TIMES), st.sampled_from(("engine", "reference")))
def test_comparing_by_lists_finds_the_same_as_comparing_each_decision(
    models: Mapping[str, Model], batches: list[list[Change]], now: float, which: str
) -> None:
    facts, changes = state(batches[:-1]), batches[-1]
    start = Engine if which == "engine" else Reference
    sides = EvaluatedSide(start(models, facts), now), EvaluatedSide(start(models, fold(facts, changes, 2)), now)

    assert compare(*sides, (impact.WHOLE_SCOPE,), few=0) == compare(*sides, (impact.WHOLE_SCOPE,), few=1000)


def test_every_type_of_change_has_a_scope() -> None:
    assert impact._SCOPES.keys() == set(get_args(Change))


class Counting:
    """Answers like the reference, and records the questions."""

    def __init__(self, models: Models, facts: Snapshot, asked: list[Question] | None = None) -> None:
        self.models, self.facts = models, facts
        self.asked = [] if asked is None else asked

    def check(self, question: Question, now: float) -> Decision:
        self.asked.append(question)
        return decide(self.models, self.facts, question, now)

    def advance(self, changes: Iterable[Change], facts: Snapshot) -> "Counting":
        return Counting(self.models, facts, self.asked)


def test_a_what_if_checks_only_affected_principals_and_resources() -> None:
    answers = Counting(MODELS, snapshot())

    analyze_changes(answers, (assigned(MEMBER, "editor", FLIGHTS),), NOW)  # type: ignore[arg-type]

    # The two pipelines run as the admin.
    assert {question.caller.principal for question in answers.asked} == {MEMBER, ADMIN}
    theirs = {question.resource for question in answers.asked if question.caller.principal == MEMBER}
    assert theirs == {FLIGHTS, RAW, LAKE, LOAD, DELAYS}


def foreseen(facts: Snapshot, *changes: Change) -> Impact:
    return analyze_changes(Engine(MODELS, facts), changes, NOW)


def on(consequences: Impact, who: PrincipalId, place: ResourceId) -> SubjectImpact:
    [found] = [each for each in consequences.effects if (each.principal, each.resource) == (who, place)]
    return found


class TestWhatSomebodyGains:
    def test_a_gain_lists_actions_and_the_roles_before_and_after(self) -> None:
        facts = snapshot(assigned(MEMBER, "viewer", FLIGHTS))

        found = on(foreseen(facts, assigned(MEMBER, "editor", FLIGHTS)), MEMBER, FLIGHTS)

        assert (found.before, found.after) == ("viewer", "editor")
        assert found.lost == ()
        assert Ability("table.insert") in found.gained
        assert Ability("table.select") not in found.gained

    def test_a_gain_includes_the_roles_that_a_user_may_assign(self) -> None:
        found = on(foreseen(snapshot(), assigned(MEMBER, "manager", FLIGHTS)), MEMBER, FLIGHTS)

        assert Ability("assignment.add", "editor") in found.gained
        assert Ability("assignment.add", "manager") not in found.gained

    def test_a_gain_through_a_group_is_found(self) -> None:
        facts = snapshot(assigned(CREW, "viewer", RAW))

        found = foreseen(facts, MemberAdded(CREW, OTHER))

        assert {each.principal for each in found.effects} == {OTHER}
        assert {each.resource for each in found.effects} == {
            LAKE,
            RAW,
            FLIGHTS,
            PLANES,
            ResourceId("files"),
            LOAD,
            DELAYS,
        }

    def test_an_assignment_without_effect_has_no_impact(self) -> None:
        facts = snapshot(assigned(MEMBER, "manager", RAW))

        assert foreseen(facts, assigned(MEMBER, "viewer", FLIGHTS)) == Impact((), ())

    def test_a_revoke_loses_exactly_what_the_assignment_gained(self) -> None:
        change = assigned(MEMBER, "editor", RAW)
        gained = {replace(flip, allowed=False) for flip in foreseen(snapshot(), change).flips()}

        lost = foreseen(snapshot(change), RoleRevoked(MEMBER, "editor", RAW)).flips()

        assert set(lost) == gained


class TestAPipeline:
    def test_a_pipeline_breaks_when_its_run_as_principal_loses_a_declared_right(self) -> None:
        facts = snapshot(assigned(OTHER, "editor", RAW), RunAsSet(DELAYS, OTHER))

        [effect] = foreseen(facts, RoleRevoked(OTHER, "editor", RAW), assigned(OTHER, "editor", PLANES)).pipelines

        assert effect.breaks
        assert (effect.pipeline, effect.run_as) == (DELAYS, OTHER)
        assert DecisionChange(OTHER, Ability("table.select"), FLIGHTS, allowed=False) in effect.lost
        assert {flip.resource for flip in effect.lost} == {FLIGHTS, RAW}

    def test_a_pipeline_does_not_break_when_another_user_loses_a_right(self) -> None:
        facts = snapshot(assigned(OTHER, "editor", RAW))

        assert foreseen(facts, RoleRevoked(OTHER, "editor", RAW)).pipelines == ()

    def test_a_pipeline_without_a_run_as_principal_breaks_for_its_former_users(self) -> None:
        query = ResourceCreated(ResourceId("q"), "query", ResourceId("project"), "q", None, {"inputs": edges(SALARIES)})
        facts = snapshot(query, assigned(OTHER, "viewer", SALARIES))

        [effect] = foreseen(facts, RoleRevoked(OTHER, "viewer", SALARIES)).pipelines

        assert (effect.pipeline, effect.run_as, effect.breaks) == (query.resource, None, True)
        assert DecisionChange(OTHER, Ability("query.describe"), query.resource, allowed=False) in effect.lost

    def test_a_pipeline_breaks_when_a_declared_table_is_deleted(self) -> None:
        effects = foreseen(snapshot(), ResourceDeleted(FLIGHTS)).pipelines

        assert {effect.pipeline for effect in effects if effect.breaks} == {LOAD, DELAYS}

    def test_a_pipeline_breaks_when_its_run_as_principal_is_removed(self) -> None:
        effects = foreseen(snapshot(), PrincipalRemoved(ADMIN)).pipelines

        assert {effect.pipeline for effect in effects if effect.breaks} == {LOAD, DELAYS}

    def test_a_pipeline_breaks_when_it_declares_a_table_denied_to_its_run_as_principal(self) -> None:
        facts = snapshot(assigned(OTHER, "editor", RAW), RunAsSet(DELAYS, OTHER))
        wider = {**facts.resources[DELAYS].relations, "inputs": edges(FLIGHTS, SALARIES)}

        effects = foreseen(facts, RelationsSet(DELAYS, wider)).pipelines

        assert [{flip.resource for flip in effect.lost} for effect in effects if effect.breaks] == [{SALARIES}]

    def test_a_pipeline_opens_when_the_stream_that_closed_it_is_disabled(self) -> None:
        facts = snapshot(assigned(MEMBER, "viewer", PLANES))
        off = {**facts.resources[LOAD].relations, "outputs": (Edge(FLIGHTS, enabled=False), *edges(PLANES))}

        [effect] = foreseen(facts, RelationsSet(LOAD, off)).pipelines

        assert effect.opens
        assert not effect.breaks
        assert DecisionChange(MEMBER, Ability("source.describe"), LOAD, allowed=True) in effect.gained

    def test_a_created_database_is_not_a_pipeline(self) -> None:
        created = ResourceCreated(ResourceId("new"), "database", LAKE, "new")

        found = foreseen(snapshot(), created)

        assert found.effects
        assert found.pipelines == ()

    def test_a_change_that_decides_nothing_has_no_impact_on_pipelines(self) -> None:
        assert foreseen(snapshot(), AttributesSet(FLIGHTS, {"color": ("red",)})) == Impact((), ())


class TestTheDifference:
    def test_the_difference_of_two_revisions_is_the_impact_of_the_changes_between_them(self) -> None:
        facts, changes = snapshot(assigned(MEMBER, "viewer", RAW)), (assigned(MEMBER, "editor", FLIGHTS),)
        later = Engine(MODELS, fold(facts, changes, 2))

        found = compute_difference(EvaluatedSide(Engine(MODELS, facts), NOW), EvaluatedSide(later, NOW))

        assert found == foreseen(facts, *changes)

    def test_the_difference_of_two_models_is_the_set_of_changed_decisions(self) -> None:
        facts = snapshot(assigned(MEMBER, "viewer", RAW))
        viewer = replace(NEKT.roles["viewer"], actions=NEKT.roles["viewer"].actions - {"volume.read"})
        stricter = {NEKT.name: replace(NEKT, roles={**NEKT.roles, "viewer": viewer})}

        found = compute_difference(
            EvaluatedSide(Engine(MODELS, facts), NOW), EvaluatedSide(Engine(stricter, facts), NOW)
        )

        assert set(found.flips()) == {
            DecisionChange(MEMBER, Ability("volume.read"), ResourceId("files"), allowed=False)
        }

    def test_the_difference_of_two_times_shows_the_assignments_that_ended_between_them(self) -> None:
        answers = Engine(MODELS, snapshot(assigned(MEMBER, "viewer", SALARIES, ends=NOW + 5)))

        found = compute_difference(EvaluatedSide(answers, NOW), EvaluatedSide(answers, NOW + 5))

        assert DecisionChange(MEMBER, Ability("table.select"), SALARIES, allowed=False) in set(found.flips())
        assert not any(flip.allowed for flip in found.flips())
