"""Roles with a single holder: an assignment transfers them."""

import pytest

from headgate.control.access.assignments import AssignRole, ChangeRole
from headgate.control.identity.principals import AddPrincipal
from headgate.control.kernel.command import PermissionDeniedError
from headgate.control.kernel.errors import InvalidError, NotFoundError
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId
from tests.fakes.depot import ANN, BEN, CY, DATABASE, TABLE, World


@pytest.fixture
def world() -> World:
    return World()


class TestASingleHolder:
    def test_the_holder_transfers_the_role_and_loses_it(self, world: World) -> None:
        world.assign(BEN, "maker", DATABASE)
        world.create_table(Caller(BEN))
        before = world.control.snapshot.revision

        world.control.execute(AssignRole(CY, "keeper", TABLE), Caller(BEN))
        assert (world.holders("keeper"), world.control.snapshot.revision) == ({CY}, before + 1)
        assert not world.may(Caller(BEN), "table.drop", TABLE)

    def test_a_caller_that_may_not_remove_the_role_takes_it_from_no_holder(self, world: World) -> None:
        world.assign(BEN, "maker", DATABASE)
        world.create_table(Caller(BEN))

        with pytest.raises((PermissionDeniedError, NotFoundError)):
            world.control.execute(AssignRole(CY, "keeper", TABLE), Caller(CY))
        with pytest.raises(PermissionDeniedError):
            world.control.execute(AssignRole(CY, "keeper", TABLE), Caller(ANN))
        assert world.holders("keeper") == {BEN}

    def test_an_assignment_to_the_holder_for_another_reason_replaces_the_first_one(self, world: World) -> None:
        world.assign(BEN, "maker", DATABASE)
        world.create_table(Caller(BEN))

        world.control.execute(AssignRole(BEN, "keeper", TABLE, reason="again"), Caller(BEN))
        held = [each.reason for each in world.control.snapshot.list_assigned_on(TABLE) if each.role == "keeper"]
        assert held == ["again"]

    def test_an_assignment_of_the_role_has_no_dates(self, world: World) -> None:
        world.create_table(None)

        with pytest.raises(InvalidError, match="`keeper` has at most one holder on a resource"):
            world.assign(BEN, "keeper", TABLE, ends=9.0)

    def test_another_role_is_not_changed_into_the_role(self, world: World) -> None:
        world.create_table(None)
        world.assign(BEN, "reader", TABLE)

        with pytest.raises(InvalidError, match="`keeper` has a single holder on a resource"):
            world.control.execute(ChangeRole(BEN, "reader", "keeper", TABLE), None)

    def test_a_user_that_is_added_with_the_role_takes_it_from_no_holder(self, world: World) -> None:
        world.create_table(None)
        world.assign(BEN, "keeper", TABLE)

        with pytest.raises(InvalidError, match="`keeper` has a single holder on a resource"):
            world.control.execute(AddPrincipal(PrincipalId("di"), "Di", "keeper", TABLE), None)
