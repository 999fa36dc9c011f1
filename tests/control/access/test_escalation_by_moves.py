"""Privilege escalation by moves: a move adds no privilege of the caller on the resource, below it, or on what belongs to it."""

import pytest

from headgate.control.access.roles import DefineRole
from headgate.control.access.switches import ChangeSetting
from headgate.control.identity.principals import AddPrincipal
from headgate.control.kernel.errors import InvalidError
from headgate.control.resources.commands import MoveResource
from headgate.facts.ids import ResourceId
from tests.control.organization_harness import ANN, ROOT, OrganizationHarness, resource, role

INNER, OTHER = ResourceId("inner"), ResourceId("other")


@pytest.fixture
def world() -> OrganizationHarness:
    """A payroll product of a team in the shop. Ann may move teams of the shop, and approves access in a team of her own."""
    world = OrganizationHarness("datamesh")
    world.do(AddPrincipal(ANN, "ann", "member"))
    world.do(resource("shop", "team", ROOT), resource("inner", "team", "shop"), resource("other", "team", ROOT))
    world.do(resource("payroll", "data_product", ROOT, owner="inner"), resource("port", "output_port", "payroll"))
    world.do(DefineRole("mover", ("TEAM_ADD", "TEAM_EDIT", "TEAM_DELETE")))
    world.do(DefineRole("approver_of_access", ("TEAM_ADD", "ACCESS_ADD", "ACCESS_APPROVE", "ACCESS_REQUEST")))
    world.do(ChangeSetting(ROOT, "role_mode", "custom"))
    world.do(role(ANN, "mover", "shop"), role(ANN, "approver_of_access", "other"))
    return world


def test_a_move_of_a_team_is_refused_if_the_caller_gains_on_a_product_that_belongs_to_it(
    world: OrganizationHarness,
) -> None:
    world.refuse(
        MoveResource(INNER, OTHER),
        InvalidError,
        "the change would also give you the role `ACCESS_ADD`, on the resource or on one that gets its roles from it",
        by=ANN,
    )

    assert world.control.snapshot.resources[INNER].parent == "shop"


def test_a_caller_that_gains_nothing_moves_a_team_with_its_products(world: OrganizationHarness) -> None:
    world.do(role(ANN, "mover", "other"), role(ANN, "approver_of_access", "shop"))

    world.do(MoveResource(INNER, OTHER), by=ANN)

    assert world.control.snapshot.resources[INNER].parent == OTHER
