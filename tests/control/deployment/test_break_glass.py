import pytest

from headgate.control.deployment.break_glass import LONGEST, REASON, BreakGlass, break_glass_until
from headgate.control.kernel.errors import InvalidError
from headgate.facts.ids import PrincipalId
from tests.control.organization_harness import ANN, FOUNDER, OrganizationHarness, nekt, role

ZOE = PrincipalId("zoe")


def test_break_glass_gives_a_user_the_founding_role_until_it_ends() -> None:
    world = nekt()
    world.do(BreakGlass(ANN, "ann", 1_060.0))

    assert world.may(ANN, "organization.manage_users", "organization")
    assert break_glass_until(world.facts, world.now) == 1_060.0
    world.now = 1_060.0
    assert not world.may(ANN, "organization.manage_users", "organization")
    assert break_glass_until(world.facts, world.now) is None


@pytest.mark.parametrize("model", ["nekt", "y42", "onehouse", "datamesh"])
def test_break_glass_adds_a_user_that_was_not_in_the_organization(model: str) -> None:
    world = OrganizationHarness(model)
    world.do(BreakGlass(ZOE, "zoe", 1_060.0))

    assert world.store.bodies["principal", ZOE] == {"name": "zoe"}
    assert world.roles(ZOE, "organization") == world.roles(FOUNDER, "organization")


def test_a_role_from_before_break_glass_remains() -> None:
    world = nekt()
    world.do(role(ANN, "owner"), BreakGlass(ANN, "ann", 1_060.0))

    world.now = 2_000.0
    assert world.may(ANN, "organization.manage_users", "organization")


def test_break_glass_reports_the_latest_end() -> None:
    world = nekt()
    world.do(BreakGlass(ANN, "ann", 1_060.0), BreakGlass(ZOE, "zoe", 1_030.0))

    assert break_glass_until(world.facts, world.now) == 1_060.0
    reasons = {reason for _, _, reason in world.facts.assignments[ANN]}
    assert reasons == {"", REASON}


def test_the_deployment_alone_may_break_glass_and_only_for_a_limited_time() -> None:
    world = nekt()

    world.refuse(BreakGlass(ANN, "ann", 1_060.0), InvalidError, by=FOUNDER)
    for ends in (1_000.0, 1_000.0 + LONGEST + 1):
        world.refuse(BreakGlass(ANN, "ann", ends), InvalidError)


def test_break_glass_is_inactive_by_default() -> None:
    assert break_glass_until(nekt().facts, 0.0) is None
