"""Tokens that act in a team."""

import pytest

from headgate.control.access.assignments import RevokeRole
from headgate.control.kernel.errors import InvalidError, NotFoundError
from headgate.control.organizations.commands import ALL_USERS_GROUP
from headgate.control.resources.commands import DeleteResource
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId, TokenId
from tests.fakes.depot import ANN, BEN, BLUE, CY, DATABASE, RED, TABLE, World


@pytest.fixture
def world() -> World:
    return World()


class TestActingInATeam:
    def test_the_team_alone_creates_and_has_what_it_creates(self, world: World) -> None:
        world.assign(BEN, "member", RED)
        world.assign(RED, "maker", DATABASE)

        world.create_table(world.token(BEN, RED))
        assert world.holders("keeper") == {RED}
        assert world.may(Caller(BEN), "table.drop", TABLE)

    def test_the_roles_of_another_team_create_nothing(self, world: World) -> None:
        for crew in (RED, BLUE):
            world.assign(BEN, "member", crew)
        world.assign(BLUE, "maker", DATABASE)
        world.assign(BEN, "maker", DATABASE)

        acting = world.token(BEN, RED)
        assert not world.may(acting, "database.create_table", DATABASE)
        assert "for this action only the roles of that team count" in world.reason(acting)
        assert world.may(acting, "database.describe", DATABASE)
        assert world.may(Caller(BEN), "database.create_table", DATABASE)

    def test_the_roles_of_a_team_of_which_the_team_is_a_member_create(self, world: World) -> None:
        world.assign(BEN, "member", RED)
        world.assign(RED, "member", BLUE)
        world.assign(BLUE, "maker", DATABASE)

        assert world.may(world.token(BEN, RED), "database.create_table", DATABASE)

    def test_a_former_member_creates_nothing(self, world: World) -> None:
        world.assign(BEN, "member", RED)
        world.assign(RED, "maker", DATABASE)
        acting = world.token(BEN, RED)
        world.control.execute(RevokeRole(BEN, "member", RED), None)

        assert not world.may(acting, "database.create_table", DATABASE)
        world.assign(BEN, "maker", DATABASE)  # which shows the database, and does not count
        assert not world.may(acting, "database.create_table", DATABASE)
        assert "of which its principal is not a member any more" in world.reason(acting)

    def test_a_former_member_creates_nothing_by_another_team_that_the_team_is_in(self, world: World) -> None:
        for subject in (BEN, RED):
            world.assign(subject, "member", BLUE)
        world.assign(BEN, "member", RED)
        world.assign(BLUE, "maker", DATABASE)
        acting = world.token(BEN, RED)
        assert world.may(acting, "database.create_table", DATABASE)

        world.control.execute(RevokeRole(BEN, "member", RED), None)
        assert not world.may(acting, "database.create_table", DATABASE)

    def test_a_deleted_team_creates_nothing(self, world: World) -> None:
        world.assign(BEN, "member", RED)
        world.assign(RED, "maker", DATABASE)
        acting = world.token(BEN, RED)
        world.control.execute(DeleteResource(RED), None)

        assert not world.may(acting, "database.create_table", DATABASE)

    @pytest.mark.parametrize("place", [ALL_USERS_GROUP, ANN])
    def test_a_principal_acts_in_no_group_and_not_in_itself(self, world: World, place: str) -> None:
        with pytest.raises((InvalidError, NotFoundError)):
            world.token(ANN, ResourceId(place))
        assert TokenId("k") not in world.control.snapshot.tokens

    def test_a_principal_acts_in_no_team_of_which_it_is_no_member(self, world: World) -> None:
        world.assign(BEN, "member", RED)

        with pytest.raises(NotFoundError):
            world.token(CY, RED)  # hidden from the principal
        with pytest.raises(InvalidError, match="the principal of the token is not a member of the crew"):
            world.token(ANN, RED)
