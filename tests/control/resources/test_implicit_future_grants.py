"""Future grants: assignments that are made on new resources."""

import pytest

from headgate.control.identity.principals import RemovePrincipal
from headgate.facts.caller import Caller
from tests.fakes.depot import BEN, CY, DATABASE, DEPOT, TABLE, World


@pytest.fixture
def world() -> World:
    return World()


class TestAFutureGrant:
    def test_the_nearest_future_grants_hide_those_above(self, world: World) -> None:
        world.assign(BEN, "future_reader", DEPOT)
        world.assign(CY, "future_reader", DATABASE)

        world.create_table(None)
        assert world.holders("reader") == {CY}

    def test_a_future_grant_ends_with_its_assignments(self, world: World) -> None:
        world.assign(BEN, "future_reader", DATABASE, ends=5.0)
        world.create_table(None)
        assert world.may(Caller(BEN), "table.select", TABLE)

        world.now = 6.0
        assert not world.may(Caller(BEN), "table.select", TABLE)

    def test_a_future_grant_that_has_ended_gives_nothing(self, world: World) -> None:
        world.assign(BEN, "future_reader", DATABASE, ends=5.0)
        world.now = 6.0

        world.create_table(None)
        assert world.holders("reader") == set()

    def test_a_removed_user_gets_no_future_grant(self, world: World) -> None:
        world.assign(BEN, "future_reader", DATABASE)
        world.control.execute(RemovePrincipal(BEN), None)

        world.create_table(None)
        assert world.holders("reader") == set()
