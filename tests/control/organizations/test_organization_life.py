"""An organization's other name and its end, programs' names, and who makes their tokens."""

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
from tests.control.organization_harness import ANN, BOT, EVE, FOUNDER, World, datamesh, nekt, onehouse, role, y42

T = TokenId("t")


class TestAnotherNameOfTheOrganization:
    @pytest.mark.parametrize("begin", [nekt, y42, onehouse, datamesh])
    def test_is_given_by_who_rules_it_and_by_no_member(self, begin: Callable[[], World]) -> None:
        world = begin()

        world.refuse(RenameOrganization("other"), PermissionDeniedError, by=ANN)
        assert world.do(RenameOrganization("other"), by=FOUNDER).revision
        world.refuse(RenameOrganization("a/b"), InvalidError, "cannot be a name", by=FOUNDER)


class TestItsEnd:
    def test_leaves_nobody_in_it_and_no_names(self) -> None:
        world = y42()
        world.do(IssueToken(T, "s", ANN))

        facts = world.do(EndOrganization(), by=FOUNDER)

        assert not facts.principals
        assert not facts.tokens
        assert not facts.assignments
        assert not [kind for kind, _ in world.store.bodies if kind in ("principal", "token")]
        assert len(world.store.log) == facts.revision

    @pytest.mark.parametrize("begin", [nekt, onehouse, datamesh])
    def test_is_nobodys_where_no_model_says_whose(self, begin: Callable[[], World]) -> None:
        begin().refuse(EndOrganization(), PermissionDeniedError, by=FOUNDER)

    def test_needs_more_than_owning_it(self) -> None:
        world = y42()
        world.do(role(ANN, "owner"))

        world.refuse(EndOrganization(), PermissionDeniedError, by=ANN)


class TestAProgram:
    @pytest.mark.parametrize("begin", [nekt, y42, datamesh])
    def test_is_renamed_ended_and_removed_by_who_rules(self, begin: Callable[[], World]) -> None:
        world, bot = begin(), PrincipalId("robot")
        world.do(CreateServicePrincipal(bot, "robot"), by=FOUNDER)
        commands = (RenameServicePrincipal(bot, "android"), ExpirePrincipal(bot, 2_000.0), DeleteServicePrincipal(bot))

        for command in commands:
            world.refuse(command, PermissionDeniedError, by=EVE)
            world.do(command, by=FOUNDER)
        assert bot not in world.facts.principals

    def test_is_no_user(self) -> None:
        y42().refuse(DeleteServicePrincipal(ANN), NotFoundError, by=FOUNDER)

    def test_has_tokens_from_who_may_edit_it_and_give_all_it_has(self) -> None:
        world = y42()
        world.do(role(ANN, "editor"), role(BOT, "owner"))

        world.refuse(IssueToken(T, "s", BOT), PermissionDeniedError, by=EVE)
        world.refuse(IssueToken(T, "s", BOT), PermissionDeniedError, by=ANN)
        assert T in world.do(IssueToken(T, "s", BOT), by=FOUNDER).tokens


class TestAUserOfAModelThatKnowsNoManagingOfUsers:
    @pytest.mark.parametrize("begin", [y42, onehouse])
    def test_leaves_by_who_may_take_every_role_on_the_organization(self, begin: Callable[[], World]) -> None:
        world = begin()

        world.refuse(RemovePrincipal(ANN), PermissionDeniedError, by=EVE)
        assert ANN not in world.do(RemovePrincipal(ANN), by=FOUNDER).principals

    def test_who_holds_none_there_is_removed_by_nobody_in_it(self) -> None:
        world = y42()
        world.do(RemovePrincipal(ANN))

        world.refuse(RemovePrincipal(BOT), PermissionDeniedError, by=FOUNDER)


def test_a_token_names_actions_that_a_model_knows() -> None:
    nekt().refuse(IssueToken(T, "s", ANN, actions=("table.fly",)), InvalidError, "no access model", by=ANN)


def test_what_nobody_can_be_called_is_said() -> None:
    world = nekt()
    for name in ("", " a", "a  b", "a/b", "x" * 101, "a\nb", "a\u202eb", "\u0430dmin"):
        world.refuse(CreateServicePrincipal(BOT, name), InvalidError, "name", by=FOUNDER)
    for name in ("the bot", "O'Brien, Ann", "\u0418\u0432\u0430\u043d Smith", "a.b+c@d-e"):
        assert world.preview(CreateServicePrincipal(BOT, name, "member"), by=FOUNDER).changes
