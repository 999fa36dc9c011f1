"""A check of an assignment action and the command decide alike under any model, for every kind of subject."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.control.access.assignments import AssignRole, ChangeRole, RevokeRole
from headgate.control.kernel.command import Command, CommandContext, PermissionDeniedError, evaluate
from headgate.control.kernel.errors import AlreadyExistsError, InvalidError, NotFoundError
from headgate.decision.context import model_for
from headgate.decision.engine.engine import Engine
from headgate.decision.tree import subject_kind
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.changes import Change
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Assignment, Snapshot
from headgate.model.model import Model
from tests.fakes.generated_histories import NOW as TIMES
from tests.fakes.generated_histories import RESOURCES, SUBJECTS, USERS, histories, state_with_a_boss
from tests.fakes.generated_models import ROLES, model_sets, with_a_boss

pytestmark = pytest.mark.timeout(600)

several = settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
WORLDS = given(
    model_sets().map(lambda models: {name: with_a_boss(model) for name, model in models.items()}),
    histories(2),
    st.sampled_from(TIMES),
)
ABOUT_THE_ASSIGNMENT = (InvalidError, AlreadyExistsError)
"""Errors that no privilege changes: the role is of another model, no owner would remain, or the role is held already."""


def additions(facts: Snapshot) -> Iterator[Question]:
    """Yield a question about each subject, role and place."""
    for user in USERS:
        for place in sorted(facts.resources):
            for subject in (*SUBJECTS, *RESOURCES, PrincipalId("nobody")):
                for role in ROLES:
                    yield Question(Caller(user), "assignment.add", place, role=role, subject=subject)


def held(facts: Snapshot) -> Iterator[Assignment]:
    for given_to in facts.assignments.values():
        yield from given_to.values()


def is_refused(answers: Engine, question: Question, command: Command, now: float) -> bool:
    """Whether the command is refused because of the caller; the other errors are about the assignment itself."""
    try:
        evaluate(command, CommandContext(answers, question.caller, now))
    except (PermissionDeniedError, NotFoundError):
        return True
    except ABOUT_THE_ASSIGNMENT:
        return not answers.check(question, now).allowed
    return False


@several
@WORLDS
def test_a_role_is_assigned_exactly_if_the_check_allows_it(
    models: Mapping[str, Model], batches: list[list[Change]], now: float
) -> None:
    facts = state_with_a_boss(batches, models)
    answers = Engine(models, facts)
    for question in additions(facts):
        assert question.subject is not None
        assert question.role is not None
        command = AssignRole(question.subject, question.role, question.resource)
        assert is_refused(answers, question, command, now) is not answers.check(question, now).allowed, question


def may_remove(answers: Engine, asked: Question, given: Assignment, now: float) -> bool:
    """Whether the check allows a revoke: the question itself, or for a dormant assignment those about every role."""
    facts = answers.facts

    def assignable(place: ResourceId) -> list[Question]:
        resource, kind = facts.resources[place], subject_kind(facts, given.subject)
        model = model_for(answers.models, facts, resource.type, place)
        roles = model.roles.values() if model else ()
        return [
            replace(asked, role=role.name, resource=place)
            for role in roles
            if resource.type in role.on and kind in role.to
        ]

    model = model_for(answers.models, facts, facts.resources[given.resource].type, given.resource)
    here = assignable(given.resource)
    is_live = given.role in facts.custom_roles or given.role in {each.role for each in here}
    if model is None or (given.model == model.name and is_live):
        return answers.check(asked, now).allowed
    every = here or assignable(facts.organization or given.resource)
    is_allowed = bool(every) and all(answers.check(each, now).allowed for each in every)
    return is_allowed or answers.check(asked, now).allowed


@several
@WORLDS
def test_a_role_is_revoked_and_changed_exactly_if_the_check_allows_it(
    models: Mapping[str, Model], batches: list[list[Change]], now: float
) -> None:
    facts = state_with_a_boss(batches, models)
    answers = Engine(models, facts)
    for user in USERS:
        for each in held(facts):
            subject, role, place = each.subject, each.role, each.resource
            asked = Question(Caller(user), "assignment.remove", place, role=role, subject=subject)
            removing = RevokeRole(subject, role, place, each.reason)
            assert is_refused(answers, asked, removing, now) is not may_remove(answers, asked, each, now), asked
            commands: list[tuple[Question, Command]] = []
            for new in ROLES:
                asked = Question(Caller(user), "assignment.change", place, role=role, subject=subject, new_role=new)
                commands.append((asked, ChangeRole(subject, role, new, place, each.reason)))
            for question, command in commands:
                assert is_refused(answers, question, command, now) is not answers.check(question, now).allowed, question
