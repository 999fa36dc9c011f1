"""Fixes under any model: each suffices, is minimal, and names exactly its approvers; no weaker one exists."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.decision.context import EvaluationContext
from headgate.decision.engine.engine import Engine
from headgate.decision.evaluator import Answers, Reference
from headgate.decision.explain import fixes
from headgate.decision.explain.explain import explain
from headgate.decision.tree import subject_kind
from headgate.decision.types import DenyReason, Fix, Question
from headgate.facts.caller import Caller
from headgate.facts.changes import Change, RoleAssigned
from headgate.facts.fold import fold
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.model.model import Model
from tests.fakes.generated_histories import NOW as TIMES
from tests.fakes.generated_histories import ROOT, histories, questions, state_with_a_boss
from tests.fakes.generated_models import model_sets, with_a_boss

several = settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)


def users_who_may_give(answers: Answers, given: RoleAssigned, now: float) -> Iterator[PrincipalId]:
    for user, principal in sorted(answers.facts.principals.items()):
        add = Question(Caller(user), "assignment.add", given.resource, role=given.role, subject=given.subject)
        if principal.kind == "user" and answers.check(add, now).allowed:
            yield user


def made(answers: Answers, fix: Fix) -> list[RoleAssigned]:
    """Return the changes of a fix."""
    nobody = EvaluationContext(answers.models, answers.facts, Question(Caller(PrincipalId("")), "", ROOT), 0.0)
    places = ((each, nobody.model(answers.facts.resources[each.resource])) for each in fix.assignments)
    return [RoleAssigned(fix.subject, each.role, each.resource, model.name) for each, model in places if model]


def after(answers: Answers, changes: list[RoleAssigned]) -> Answers:
    return Reference(answers.models, fold(answers.facts, changes, answers.facts.revision))


def single(answers: Answers, question: Question, now: float) -> Iterator[RoleAssigned]:
    """Yield every single assignment to the asking principal that suffices, and that a user may make."""
    asked, subject = EvaluationContext(answers.models, answers.facts, question, now), question.caller.principal
    for id, resource in answers.facts.resources.items():
        model = asked.model(resource)
        roles = (
            fixes._assignable(answers.facts, model, resource.type, subject_kind(answers.facts, subject))
            if model
            else ()
        )
        for role in roles:
            given = RoleAssigned(subject, role, id, model.name if model else "")
            helps = after(answers, [given]).check(question, now).allowed
            if helps and any(users_who_may_give(answers, given, now)):
                yield given


def strengths(answers: Answers, question: Question, option: list[RoleAssigned]) -> tuple[int, ...]:
    return fixes._strengths(EvaluationContext(answers.models, answers.facts, question, 0.0), tuple(option))


GENERATED = given(
    model_sets().map(lambda models: {name: with_a_boss(model) for name, model in models.items()}),
    histories(2),
    st.lists(questions(), min_size=6, max_size=6),
    st.sampled_from(TIMES),
)


@pytest.mark.timeout(600)
@several
@GENERATED
def test_every_fix_is_sufficient_minimal_and_names_exactly_its_approvers(
    models: Mapping[str, Model], batches: list[list[Change]], several_questions: list[Question], now: float
) -> None:
    answers = Reference(models, state_with_a_boss(batches, models))
    for question in several_questions:
        for fix in fixes.find_fixes(Engine(models, answers.facts), question, now):
            changes = made(answers, fix)
            assert not answers.check(question, now).allowed
            assert after(answers, changes).check(question, now).allowed
            for number, each in enumerate(changes):
                assert not after(answers, changes[:number] + changes[number + 1 :]).check(question, now).allowed
                approvers = users_who_may_give(after(answers, changes[:number]), each, now)
                assert fix.assignments[number].approvers == tuple(approvers) != ()


@pytest.mark.timeout(600)
@several
@GENERATED
def test_the_weakest_fix_is_no_stronger_than_any_single_sufficient_assignment(
    models: Mapping[str, Model], batches: list[list[Change]], several_questions: list[Question], now: float
) -> None:
    # A role that spreads up, or that comes with membership in a team, is no fix: it would grant more than the question
    # needs.
    models = {
        name: replace(model, spread=tuple(rule for rule in model.spread if not rule.up), members=frozenset())
        for name, model in models.items()
    }
    answers = Reference(models, state_with_a_boss(batches, models))
    for question in several_questions[:3]:
        if not answers.check(question, now).allowed:
            found = [
                strengths(answers, question, made(answers, fix)) for fix in fixes.find_fixes(answers, question, now)
            ]
            for given in single(answers, question, now):
                assert found
                assert min(found) <= strengths(answers, question, [given])


@several
@GENERATED
def test_a_hidden_resource_is_explained_exactly_like_a_missing_one(
    models: Mapping[str, Model], batches: list[list[Change]], several_questions: list[Question], now: float
) -> None:
    facts = state_with_a_boss(batches, models)
    for question in several_questions:
        explained = explain(models, facts, question, now)
        if not (explained.decision.allowed or explained.discoverable) and question.resource != ROOT:
            missing = replace(question, resource=ResourceId("missing"))
            like = explain(models, facts, missing, now)
            assert explained.fixes == ()
            assert like.decision.missing == DenyReason("no-resource", ResourceId("missing"))
            assert explained.decision.missing == DenyReason("no-resource", question.resource)
            assert explained.decision._replace(question=missing, missing=like.decision.missing) == like.decision
