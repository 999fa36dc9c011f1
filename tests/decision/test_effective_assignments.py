from dataclasses import replace

from headgate.decision.engine.engine import Engine
from headgate.decision.explain.explain import explain
from headgate.decision.reference import decide
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.changes import CustomRoleDefined, OrganizationCreated, PrincipalAdded, ResourceCreated, RoleAssigned
from headgate.facts.fold import fold
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Snapshot
from tests.fakes.small_organization import DATAMESH

ROOT, TEAM, ANN = ResourceId("o"), ResourceId("team"), PrincipalId("ann")


def test_a_role_of_a_custom_role_that_the_model_lacks_gives_nothing() -> None:
    assert DATAMESH.custom_roles is not None
    known = min(DATAMESH.custom_roles.of)
    model = replace(DATAMESH, custom_roles=replace(DATAMESH.custom_roles, when=(), on=frozenset(("team",))))
    facts = fold(
        Snapshot(),
        [
            OrganizationCreated(ROOT, model.name, model.hash),
            PrincipalAdded(ANN, "user"),
            ResourceCreated(TEAM, "team", ROOT, "team"),
            CustomRoleDefined("steward", ("GONE", known)),
            RoleAssigned(ANN, "steward", TEAM, model.name),
        ],
        1,
    )
    models, engine = {model.name: model}, Engine({model.name: model}, facts)

    for action in model.actions_on("team"):
        question = Question(Caller(ANN), action, TEAM)
        assert engine.check(question, 0.0).allowed == decide(models, facts, question, 0.0).allowed
        assert explain(models, facts, question, 0.0).decision.allowed == engine.check(question, 0.0).allowed
