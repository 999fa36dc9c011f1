"""Fixes through groups and teams: assignments to them, and joining them, where the recipient may know of them."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.control.kernel.vocabulary import shipped_vocabulary
from headgate.decision.conditions import CONDITIONS
from headgate.decision.engine.engine import Engine
from headgate.decision.explain.explain import explain, smallest_fixes
from headgate.decision.types import Fix, Question, RequiredAssignment, RequiredMembership
from headgate.facts import changes as c
from headgate.facts.caller import Caller
from headgate.facts.fold import fold
from headgate.facts.ids import GroupId, PrincipalId, ResourceId, SubjectId
from headgate.facts.snapshot import Snapshot
from headgate.model.load import load_model
from headgate.model.model import Model
from tests.decision.explain.test_fixes import of_a_stranger
from tests.fakes.generated_histories import histories, questions, state_with_a_boss
from tests.fakes.generated_models import DENSE, model_sets, with_a_boss
from tests.scenarios.folders import FOLDERS

_FILE: Path = next(each for each in FOLDERS if each.name == "catalog_roles") / "catalog_roles.yaml"
CATALOG_ROLES = load_model(_FILE.read_text(), shipped_vocabulary(), _FILE.name, CONDITIONS)
MODELS = {CATALOG_ROLES.name: CATALOG_ROLES}
ROOT, ANN, BEN = PrincipalId("root"), PrincipalId("ann"), PrincipalId("ben")
ORGANIZATION, R, W, TABLE = ResourceId("o"), ResourceId("R"), ResourceId("W"), ResourceId("t")
CREW = GroupId("crew")


def _assigned(subject: SubjectId, role: str, place: ResourceId) -> c.RoleAssigned:
    return c.RoleAssigned(subject, role, place, CATALOG_ROLES.name)


def _made(id: str, type: str, parent: str) -> c.ResourceCreated:
    return c.ResourceCreated(ResourceId(id), type, ResourceId(parent), id, None, {})


def world(*more: c.Change) -> Snapshot:
    """Return a world in which root owns all, ann and the group crew are in no catalog role, and W may write the table."""
    begun = (
        c.OrganizationCreated(ORGANIZATION, CATALOG_ROLES.name, ""),
        *(c.PrincipalAdded(each, "user") for each in (ROOT, ANN, BEN)),
        c.GroupCreated(CREW),
        _made("R", "team", "o"),
        _made("W", "team", "o"),
        _made("p", "project", "o"),
        _made("l", "lake", "p"),
        _made("d", "database", "l"),
        _made("t", "table", "d"),
        _assigned(ROOT, "OWNER", ORGANIZATION),
        _assigned(W, "WRITE_DATA", TABLE),
    )
    return fold(Snapshot(), (*begun, *more), 1)


def found(facts: Snapshot, recipient: PrincipalId | None = None) -> tuple[Fix, ...]:
    question = Question(Caller(ANN), "table.insert", TABLE)
    return smallest_fixes(MODELS, facts, question, 1.0, None, Caller(recipient) if recipient else None)


def test_a_fix_assigns_the_role_to_a_team_of_the_caller_if_users_cannot_hold_it() -> None:
    facts = world(c.RoleRevoked(W, "WRITE_DATA", TABLE), _assigned(ANN, "assignee", R))

    assert found(facts) == (Fix(R, (RequiredAssignment("WRITE_DATA", TABLE, (ROOT,)),)),)


def test_a_fix_is_to_join_the_team_that_holds_the_role() -> None:
    assert found(world()) == (Fix(ANN, (RequiredAssignment("assignee", W, (ROOT,)),)),)


def test_a_fix_is_to_join_the_group_that_is_in_the_team() -> None:
    facts = world(_assigned(CREW, "assignee", W))

    assert Fix(ANN, (), (RequiredMembership(CREW, (ROOT,)),)) in found(facts)


def test_a_fix_puts_a_group_of_the_caller_into_the_team() -> None:
    facts = world(c.MemberAdded(CREW, ANN))

    assert Fix(ANN, (RequiredAssignment("assignee", W, (ROOT,)),)) in found(facts)


def test_a_fix_names_hidden_teams_and_groups_only_to_a_recipient_that_may_discover_them() -> None:
    facts = world(_assigned(CREW, "assignee", W))

    assert found(facts, ANN) == ()
    assert found(facts, ROOT) == found(facts) != ()


def test_no_fix_names_a_group_with_no_user_that_may_add_members() -> None:
    facts = world(_assigned(CREW, "assignee", W), c.RoleRevoked(ROOT, "OWNER", ORGANIZATION))

    assert found(facts) == ()


def _named(fix: Fix) -> set[SubjectId]:
    """Return the groups and teams that a fix names."""
    return {*(each.group for each in fix.memberships), *(each.subject or fix.subject for each in fix.assignments)}


@pytest.mark.timeout(600)
@settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
@given(
    st.one_of(model_sets(), st.just(DENSE)).map(
        lambda models: {name: with_a_boss(model) for name, model in models.items()}
    ),
    histories(2),
    st.lists(questions().map(of_a_stranger), min_size=6, max_size=6),
)
def test_an_explanation_names_only_groups_that_the_caller_may_discover(
    models: Mapping[str, Model], batches: list[list[c.Change]], several_questions: list[Question]
) -> None:
    answers = Engine(models, state_with_a_boss(batches, models))
    for question in several_questions:
        caller = question.caller
        for fix in explain(models, answers.facts, question, 5.0, answers).fixes:
            for each in _named(fix) - {caller.principal, question.subject}:
                assert answers.is_discoverable(caller, ResourceId(each), 5.0), (question, fix)
