"""An organization's rename and deletion, names of service principals, and the creators of their tokens."""

from collections.abc import Callable

import pytest

from headgate.control.identity.principals import (
    CreateServicePrincipal,
    DeleteServicePrincipal,
    ExpirePrincipal,
    RemovePrincipal,
    RenameServicePrincipal,
)
from headgate.control.identity.tokens import IssueToken
from headgate.control.kernel.command import PermissionDeniedError
from headgate.control.kernel.errors import InvalidError, NotFoundError
from headgate.control.organizations.organization_life import EndOrganization, RenameOrganization
from headgate.facts.ids import PrincipalId, TokenId
from tests.control.organization_harness import (
    ANN,
    BOT,
    EVE,
    FOUNDER,
    OrganizationHarness,
    datamesh,
    nekt,
    onehouse,
    role,
    y42,
)

T = TokenId("t")


class TestAnotherNameOfTheOrganization:
    @pytest.mark.parametrize("begin", [nekt, y42, onehouse, datamesh])
    def test_the_founder_renames_the_organization_and_a_member_cannot(
        self, begin: Callable[[], OrganizationHarness]
    ) -> None:
        world = begin()

        world.refuse(RenameOrganization("other"), PermissionDeniedError, by=ANN)
        assert world.do(RenameOrganization("other"), by=FOUNDER).revision
        world.refuse(RenameOrganization("a/b"), InvalidError, "cannot be a name", by=FOUNDER)


class TestItsEnd:
    def test_ending_an_organization_removes_its_principals_and_their_names(self) -> None:
        world = y42()
        world.do(IssueToken(T, "s", ANN))

        facts = world.do(EndOrganization(), by=FOUNDER)

        assert not facts.principals
        assert not facts.tokens
        assert not facts.assignments
        assert not [kind for kind, _ in world.store.bodies if kind in ("principal", "token")]
        assert len(world.store.log) == facts.revision

    @pytest.mark.parametrize("begin", [nekt, onehouse, datamesh])
    def test_ending_an_organization_is_refused_under_models_without_that_right(
        self, begin: Callable[[], OrganizationHarness]
    ) -> None:
        begin().refuse(EndOrganization(), PermissionDeniedError, by=FOUNDER)

    def test_an_owner_cannot_end_a_y42_organization(self) -> None:
        world = y42()
        world.do(role(ANN, "owner"))

        world.refuse(EndOrganization(), PermissionDeniedError, by=ANN)


class TestAProgram:
    @pytest.mark.parametrize("begin", [nekt, y42, datamesh])
    def test_the_founder_renames_expires_and_deletes_a_service_principal(
        self, begin: Callable[[], OrganizationHarness]
    ) -> None:
        world, bot = begin(), PrincipalId("robot")
        world.do(CreateServicePrincipal(bot, "robot"), by=FOUNDER)
        commands = (RenameServicePrincipal(bot, "android"), ExpirePrincipal(bot, 2_000.0), DeleteServicePrincipal(bot))

        for command in commands:
            world.refuse(command, PermissionDeniedError, by=EVE)
            world.do(command, by=FOUNDER)
        assert bot not in world.facts.principals

    def test_a_user_is_not_deleted_as_a_service_principal(self) -> None:
        y42().refuse(DeleteServicePrincipal(ANN), NotFoundError, by=FOUNDER)

    def test_a_service_principal_token_requires_the_right_to_assign_all_its_roles(self) -> None:
        world = y42()
        world.do(role(ANN, "editor"), role(BOT, "owner"))

        world.refuse(IssueToken(T, "s", BOT), PermissionDeniedError, by=EVE)
        world.refuse(IssueToken(T, "s", BOT), PermissionDeniedError, by=ANN)
        assert T in world.do(IssueToken(T, "s", BOT), by=FOUNDER).tokens


class TestAUserOfAModelThatKnowsNoManagingOfUsers:
    @pytest.mark.parametrize("begin", [y42, onehouse])
    def test_a_user_is_removed_by_a_caller_that_may_revoke_all_their_roles(
        self, begin: Callable[[], OrganizationHarness]
    ) -> None:
        world = begin()

        world.refuse(RemovePrincipal(ANN), PermissionDeniedError, by=EVE)
        assert ANN not in world.do(RemovePrincipal(ANN), by=FOUNDER).principals

    def test_a_principal_without_organization_roles_cannot_be_removed_by_the_founder(self) -> None:
        world = y42()
        world.do(RemovePrincipal(ANN))

        world.refuse(RemovePrincipal(BOT), PermissionDeniedError, by=FOUNDER)


def test_a_token_that_names_an_unknown_action_is_refused() -> None:
    nekt().refuse(IssueToken(T, "s", ANN, actions=("table.fly",)), InvalidError, "no access model", by=ANN)


def test_an_unusable_service_principal_name_is_refused() -> None:
    world = nekt()
    for name in ("", " a", "a  b", "a/b", "x" * 101, "a\nb", "a\u202eb", "\u0430dmin"):
        world.refuse(CreateServicePrincipal(BOT, name), InvalidError, "name", by=FOUNDER)
    for name in ("the bot", "O'Brien, Ann", "\u0418\u0432\u0430\u043d Smith", "a.b+c@d-e"):
        assert world.preview(CreateServicePrincipal(BOT, name, "member"), by=FOUNDER).changes
