"""Privilege escalation by output ports: a port gives tables to agreements, so its creator needs the privilege to grant them."""

import pytest

from headgate.control.identity.principals import AddPrincipal
from headgate.control.kernel.command import PermissionDeniedError
from headgate.control.kernel.errors import NotFoundError
from headgate.facts.changes import RoleAssigned
from tests.control.organization_harness import ANN, ROOT, OrganizationHarness, request, resource, role

PORT = resource("port", "output_port", "product", serves="table")


@pytest.fixture
def world() -> OrganizationHarness:
    """Onehouse's tables and Data Mesh Manager's teams: ann is a project member, and an editor of the product's team."""
    world = OrganizationHarness("onehouse", tree="datamesh")
    world.do(AddPrincipal(ANN, "ann", "member"), resource("project", "project", ROOT), role(ANN, "member", "project"))
    world.do(
        resource("lake", "lake", "project"), resource("one", "database", "lake"), resource("table", "table", "one")
    )
    world.do(resource("shop", "team", ROOT), resource("product", "data_product", ROOT, owner="shop"))
    world.store.write(RoleAssigned(ANN, "member", ROOT, "datamesh"))
    world.reopen()
    world.do(role(ANN, "editor", "shop"))
    return world


def test_a_caller_that_may_manage_a_table_creates_a_port_that_serves_it(world: OrganizationHarness) -> None:
    world.do(role(ANN, "MANAGE", "table"), role(ANN, "DESCRIBE", "table"))

    world.do(PORT, request("access", "shop"), by=ANN)

    assert world.may(ANN, "table.select", "table")


def test_a_caller_that_may_only_see_or_read_a_table_creates_no_port_for_it(world: OrganizationHarness) -> None:
    for privilege in ("DESCRIBE", "SELECT"):
        world.do(role(ANN, privilege, "table"))

        world.refuse(PORT, PermissionDeniedError, by=ANN)


def test_a_hidden_table_is_refused_to_a_port_like_a_missing_one(world: OrganizationHarness) -> None:
    world.refuse(PORT, NotFoundError, "no `table` that you may see", by=ANN)
    world.refuse(resource("port", "output_port", "product", serves="it"), NotFoundError, "no `it` that you", by=ANN)


def test_the_deployment_creates_a_port_without_a_right_on_the_table(world: OrganizationHarness) -> None:
    world.do(PORT, request("access", "shop"))

    assert world.may(ANN, "table.select", "table")
