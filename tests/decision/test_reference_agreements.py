"""An agreement of the ownership tree grants read on the tables that its port serves, for every kind of question."""

import pytest

from headgate.control.kernel.log_follower import EngineFactory
from headgate.decision.engine.engine import Engine
from headgate.decision.evaluator import Answers, Reference
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.changes import Change, GovernedBy, RelationsSet, ResourceCreated, RoleAssigned
from headgate.facts.ids import PrincipalId, ResourceId
from tests.fakes.small_organization import DATAMESH, FLIGHTS, MEMBER, MODELS, NOW, OTHER, PLANES, ROOT, edges, snapshot

PRODUCT, PORT, OFFLINE = ResourceId("product"), ResourceId("port"), ResourceId("offline")
AGREED: tuple[Change, ...] = (
    GovernedBy(ROOT, DATAMESH.name, DATAMESH.hash),
    ResourceCreated(PRODUCT, "data_product", ROOT, "product"),
    ResourceCreated(OFFLINE, "output_port", PRODUCT, "offline", None, {"serves": edges(FLIGHTS)}),
    ResourceCreated(PORT, "output_port", PRODUCT, "port", None, {"serves": edges(FLIGHTS)}),
    RoleAssigned(MEMBER, "member", ROOT, DATAMESH.name, None),
    RoleAssigned(OTHER, "member", ROOT, DATAMESH.name, None),
    RoleAssigned(MEMBER, "consumer", PORT, DATAMESH.name, None),
)
"""The member is a consumer of one of the two ports that serve the flights."""


@pytest.fixture(params=[Reference, Engine], ids=["reference", "engine"])
def start(request: pytest.FixtureRequest) -> EngineFactory:
    return request.param


def asking(start: EngineFactory, *more: Change) -> Answers:
    return start({**MODELS, DATAMESH.name: DATAMESH}, snapshot(*AGREED, *more))


def may(answers: Answers, who: PrincipalId, action: str, resource: ResourceId) -> bool:
    return answers.check(Question(Caller(who), action, resource), NOW).allowed


def test_an_agreement_gives_its_consumer_only_read_on_the_served_table(start: EngineFactory) -> None:
    answers = asking(start)

    assert may(answers, MEMBER, "table.select", FLIGHTS)
    assert not may(answers, OTHER, "table.select", FLIGHTS)
    assert not may(answers, MEMBER, "table.select", PLANES)
    assert not may(answers, MEMBER, "table.delete_rows", FLIGHTS)


def test_lists_agree_with_the_decisions_about_an_agreement(start: EngineFactory) -> None:
    answers = asking(start)

    assert answers.list_resources(Caller(MEMBER), "table.select", NOW) == (FLIGHTS,)
    assert answers.list_resources(Caller(OTHER), "table.select", NOW) == ()
    assert MEMBER in answers.list_principals("table.select", FLIGHTS, NOW)
    assert OTHER not in answers.list_principals("table.select", FLIGHTS, NOW)
    assert MEMBER not in answers.list_principals("table.select", PLANES, NOW)


def test_an_agreement_follows_its_port_to_another_table(start: EngineFactory) -> None:
    answers = asking(start, RelationsSet(PORT, {"serves": edges(PLANES)}))

    assert may(answers, MEMBER, "table.select", PLANES)
    assert not may(answers, MEMBER, "table.select", FLIGHTS)
