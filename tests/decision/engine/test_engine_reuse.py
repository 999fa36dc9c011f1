"""The reuse of an engine's results: which questions it passes to the reference, and which results survive a change."""

from collections.abc import Mapping
from dataclasses import replace
from typing import get_args

import pytest

from headgate.decision.engine.compile import compile_models
from headgate.decision.engine.engine import Engine
from headgate.decision.engine.invalidation import Invalidation
from headgate.decision.reference import decide
from headgate.decision.types import Question
from headgate.facts import changes as c
from headgate.facts.caller import Caller
from headgate.facts.fold import fold
from headgate.facts.ids import GroupId, PrincipalId, ResourceId, TokenId
from headgate.facts.snapshot import Snapshot
from headgate.model.model import Condition, Model, PropagationRule, Role
from tests.fakes.generated_histories import BEGUN, REQUEST
from tests.fakes.generated_models import DENSE, HOME

AUTHOR, STRANGER = PrincipalId("u1"), PrincipalId("u2")
TABLE, DATABASE = ResourceId("t1"), ResourceId("d1")


def _with(model: Model, **changed: object) -> Mapping[str, Model]:
    return {**DENSE, HOME: replace(model, **changed)}  # pyright: ignore[reportArgumentType]


def _assigned(subject: PrincipalId | GroupId, role: str, place: ResourceId) -> c.RoleAssigned:
    return c.RoleAssigned(subject, role, place, HOME)


class TestAConditionOnWhichItRestsWhatSomebodyHolds:
    """A condition that depends on the question or the time is decided by the reference."""

    FACTS = fold(
        BEGUN,
        (
            c.ChangeRequested(REQUEST, TABLE, AUTHOR),
            _assigned(AUTHOR, "r0", ResourceId("o")),
            _assigned(STRANGER, "r0", ResourceId("o")),
        ),
        1,
    )

    @pytest.mark.parametrize("where", ["spread", "role", "custom role"])
    def test_a_condition_on_held_roles_is_decided_as_by_the_reference(self, where: str) -> None:
        home, author = DENSE[HOME], (Condition("named", "author"),)
        spread = (PropagationRule(frozenset(("r0",)), frozenset(("organization",)), when=author),)
        role: Role = replace(home.roles["r0"], when=author)
        custom = replace(home.custom_roles, when=author) if home.custom_roles else None
        models = {
            "spread": _with(home, spread=spread),
            "role": _with(home, roles={**home.roles, "r0": role}),
            "custom role": _with(home, custom_roles=custom),
        }[where]
        engine = Engine(models, self.FACTS)

        for who in (AUTHOR, STRANGER):
            for id in self.FACTS.resources:
                question = Question(Caller(who), f"{self.FACTS.resources[id].type}.see", id)
                allowed = decide(models, self.FACTS, question, 0.0).allowed
                assert engine.check(question, 0.0).allowed == allowed
                assert (id in engine.list_resources(Caller(who), question.action, 0.0)) == allowed
                assert (who in engine.list_principals(question.action, id, 0.0)) == allowed


class TestWhatIsTakenOver:
    def test_a_change_that_only_questions_read_invalidates_nothing(self) -> None:
        for change in (c.RunStarted, c.RunEnded, c.RunAsSet, c.AccessApproved, c.ChangeDecided, c.RequestFiled):
            touched = Invalidation(compile_models(DENSE), BEGUN, BEGUN, [_of(change)])
            assert not touched.everything, change
            assert not touched.people | touched.places | touched.positions, change

    def test_a_change_that_holds_for_all_resources_invalidates_everything(self) -> None:
        for change in (c.SettingChanged, c.GovernedBy, c.CustomRoleDefined, c.CustomRoleDeleted, c.OrganizationCreated):
            assert Invalidation(compile_models(DENSE), BEGUN, BEGUN, [_of(change)]).everything, change

    def test_every_type_of_change_has_an_invalidation(self) -> None:
        unknown = {
            kind
            for kind in get_args(c.Change)
            if Invalidation(compile_models({}), BEGUN, BEGUN, [_of(kind)]).everything
        }
        whole = {c.SettingChanged, c.GovernedBy, c.CustomRoleDefined, c.CustomRoleDeleted, c.OrganizationCreated}
        assert unknown == whole | {c.HomeModelChanged, c.ModelUpgraded}

    def test_a_change_for_many_principals_invalidates_all_holdings(self) -> None:
        crowd = [PrincipalId(f"p{number}") for number in range(1_500)]
        joined = [
            change for who in crowd for change in (c.PrincipalAdded(who, "user"), c.MemberAdded(GroupId("g"), who))
        ]
        facts = fold(BEGUN, joined, 1)
        given = _assigned(GroupId("g"), "r2", DATABASE)
        touched = Invalidation(compile_models(DENSE), facts, fold(facts, [given], 2), [given])

        assert touched.everybody
        assert not touched.everything

        engine = Engine(DENSE, facts)
        question = Question(Caller(crowd[7]), "database.see", DATABASE)
        assert not engine.check(question, 0.0).allowed
        assert engine.advance([given], fold(facts, [given], 2)).check(question, 0.0).allowed

    def test_an_assignment_invalidates_the_holdings_of_its_subject_only(self) -> None:
        given = _assigned(AUTHOR, "r0", DATABASE)
        touched = Invalidation(compile_models(DENSE), BEGUN, fold(BEGUN, [given], 1), [given])

        assert touched.people == {AUTHOR}
        assert touched.places == {DATABASE}
        assert not touched.positions


class TestAnEngine:
    def test_an_engine_without_facts_allows_nothing(self) -> None:
        engine = Engine(DENSE, Snapshot())

        assert not engine.check(Question(Caller(AUTHOR), "table.see", TABLE), 0.0).allowed
        assert engine.list_resources(Caller(AUTHOR), "table.see", 0.0) == ()
        assert engine.list_principals("table.see", TABLE, 0.0) == frozenset()
        assert not engine.is_discoverable(Caller(AUTHOR), TABLE, 0.0)

    def test_an_engine_returns_the_question_model_and_revision_of_a_decision(self) -> None:
        question = Question(Caller(AUTHOR, TokenId("none")), "table.see", TABLE)

        assert Engine(DENSE, BEGUN).check(question, 0.0) == (False, BEGUN.revision, "home 1", question, (), None)


def _of(kind: type) -> c.Change:
    """Return a change of this kind that names ids which do not exist."""
    values = {"parent": None, "relations": {}, "attributes": {}, "roles": ()}
    return kind(**{name: values.get(name, "none") for name in kind.__dataclass_fields__})
