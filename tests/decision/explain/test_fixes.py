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
from headgate.decision.explain.candidate_steps import FixStep, list_assignable_roles, list_own_subjects
from headgate.decision.explain.explain import explain
from headgate.decision.tree import subject_kind
from headgate.decision.types import DenyReason, Fix, Question
from headgate.facts.caller import Caller
from headgate.facts.changes import Change, MemberAdded, RoleAssigned
from headgate.facts.fold import fold
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.model.model import Model
from tests.fakes.generated_histories import NOW as TIMES
from tests.fakes.generated_histories import PRINCIPALS, ROOT, histories, questions, state_with_a_boss
from tests.fakes.generated_models import DENSE, model_sets, with_a_boss

several = settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)


def users_who_may_make(answers: Answers, step: FixStep, now: float) -> Iterator[PrincipalId]:
    for user, principal in sorted(answers.facts.principals.items()):
        if isinstance(step, RoleAssigned):
            asked = Question(Caller(user), "assignment.add", step.resource, role=step.role, subject=step.subject)
        else:
            asked = Question(Caller(user), "group.add_member", ResourceId(step.group), subject=step.principal)
        if principal.kind == "user" and answers.check(asked, now).allowed:
            yield user


def made(answers: Answers, question: Question, fix: Fix) -> list[FixStep]:
    """Return the changes of a fix."""
    nobody = EvaluationContext(answers.models, answers.facts, Question(Caller(PrincipalId("")), "", ROOT), 0.0)
    places = ((each, nobody.model(answers.facts.resources[each.resource])) for each in fix.assignments)
    return [
        *(
            RoleAssigned(each.subject or fix.subject, each.role, each.resource, model.name)
            for each, model in places
            if model
        ),
        *(MemberAdded(each.group, question.caller.principal) for each in fix.memberships),
    ]


def after(answers: Answers, changes: list[FixStep]) -> Answers:
    return Reference(answers.models, fold(answers.facts, changes, answers.facts.revision))


def single(answers: Answers, question: Question, now: float) -> Iterator[FixStep]:
    """Yield every single change that suffices and that a user may make.

    They are assignments to the asking principal, its groups and its teams, and memberships of the principal.
    """
    for step in _steps(answers, question):
        if after(answers, [step]).check(question, now).allowed and any(users_who_may_make(answers, step, now)):
            yield step


def _steps(answers: Answers, question: Question) -> Iterator[FixStep]:
    facts, principal = answers.facts, question.caller.principal
    asked = EvaluationContext(answers.models, facts, question, 0.0)
    for id, resource in facts.resources.items():
        model = asked.model(resource)
        for subject in list_own_subjects(facts, model, principal) if model else ():
            for role in (
                list_assignable_roles(facts, model, resource.type, subject_kind(facts, subject)) if model else ()
            ):
                yield RoleAssigned(subject, role, id, model.name if model else "")
    if principal in facts.principals:
        yield from (MemberAdded(group, principal) for group in facts.groups if group not in facts.groups_of(principal))


def strengths(answers: Answers, question: Question, option: list[FixStep]) -> tuple[int, ...]:
    return fixes._strengths(EvaluationContext(answers.models, answers.facts, question, 0.0), tuple(option))


def of_a_stranger(question: Question) -> Question:
    """Return the question of a principal in no group; the other callers are in every group already."""
    return replace(question, caller=Caller(PRINCIPALS[2]))


GENERATED = given(
    st.one_of(model_sets(), st.just(DENSE)).map(
        lambda models: {name: with_a_boss(model) for name, model in models.items()}
    ),
    histories(2),
    st.lists(st.one_of(questions(), questions().map(of_a_stranger)), min_size=6, max_size=6),
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
            changes = made(answers, question, fix)
            approvers = [each.approvers for each in (*fix.assignments, *fix.memberships)]
            assert not answers.check(question, now).allowed
            assert after(answers, changes).check(question, now).allowed
            for number, each in enumerate(changes):
                assert not after(answers, changes[:number] + changes[number + 1 :]).check(question, now).allowed
                able = users_who_may_make(after(answers, changes[:number]), each, now)
                assert approvers[number] == tuple(able) != ()


@pytest.mark.timeout(600)
@several
@GENERATED
def test_the_weakest_fix_is_no_stronger_than_any_single_sufficient_assignment(
    models: Mapping[str, Model], batches: list[list[Change]], several_questions: list[Question], now: float
) -> None:
    # A role that spreads up, or that comes with membership in a team, is no fix: it would grant more than the question
    # needs.
    models = {
        name: replace(model, spread=tuple(rule for rule in model.spread if not rule.up), members={})
        for name, model in models.items()
    }
    answers = Reference(models, state_with_a_boss(batches, models))
    for question in several_questions[:3]:
        if not answers.check(question, now).allowed:
            found = [
                strengths(answers, question, made(answers, question, fix))
                for fix in fixes.find_fixes(answers, question, now)
            ]
            for given in single(answers, question, now):
                assert found
                assert min(found) <= strengths(answers, question, [given])


@pytest.mark.timeout(600)
@several
@GENERATED
def test_a_denial_without_a_fix_is_reversed_by_no_single_assignment_or_membership(
    models: Mapping[str, Model], batches: list[list[Change]], several_questions: list[Question], now: float
) -> None:
    answers = Reference(models, state_with_a_boss(batches, models))
    for question in several_questions:
        if not answers.check(question, now).allowed and not fixes.find_fixes(
            Engine(models, answers.facts), question, now
        ):
            assert next(single(answers, question, now), None) is None, question


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
            code = "unknown-action" if question.action == "x" else "no-resource"
            assert explained.fixes == ()
            assert like.decision.missing == DenyReason(code, ResourceId("missing"))
            assert explained.decision.missing == DenyReason(code, question.resource)
            assert explained.decision._replace(question=missing, missing=like.decision.missing) == like.decision
