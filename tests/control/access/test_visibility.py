"""Groups, users and service principals: how they come, change and go."""

import pytest

from headgate.control.access.assignments import RevokeRole
from headgate.control.access.switches import ChangeSetting
from headgate.control.identity.groups import ChangeMembership, CreateGroup, DeleteGroup, RenameGroup
from headgate.control.identity.principals import (
    AddPrincipal,
    CreateServicePrincipal,
    DeleteServicePrincipal,
    ExpirePrincipal,
    RemovePrincipal,
    SignUp,
)
from headgate.control.identity.tokens import IssueToken
from headgate.control.kernel.command import PermissionDeniedError
from headgate.control.kernel.errors import AlreadyExistsError, InvalidError, NotFoundError
from headgate.control.organizations.commands import ALL_USERS_GROUP
from headgate.control.resources.commands import CreateResource
from headgate.facts.ids import GroupId, PrincipalId, ResourceId, TokenId
from tests.control.organization_harness import (
    ANN,
    BEN,
    BOT,
    CREW,
    EVE,
    FOUNDER,
    ROOT,
    datamesh,
    nekt,
    onehouse,
    role,
    y42,
)

NEW, NOBODY = PrincipalId("new"), PrincipalId("nobody")
CLUB = GroupId("club")


def joining(group: GroupId, principal: PrincipalId) -> ChangeMembership:
    return ChangeMembership(group, principal, member=True)


def leaving(group: GroupId, principal: PrincipalId) -> ChangeMembership:
    return ChangeMembership(group, principal, member=False)


class TestGroups:
    def test_who_makes_one_is_its_manager_where_the_model_says_so(self) -> None:
        for world, roles in ((onehouse(), {"manager"}), (nekt(), set[str]())):
            world.do(CreateGroup(CLUB, "the club"), by=FOUNDER)
            assert world.roles(FOUNDER, CLUB) == roles
            assert world.store.bodies["group", CLUB] == {"name": "the club"}

    def test_no_groups_are_made_by_members_or_on_starter(self) -> None:
        world = nekt()
        world.refuse(CreateGroup(CLUB, "c"), PermissionDeniedError, by=ANN)
        world.do(ChangeSetting(ROOT, "plan", "starter"))

        world.refuse(CreateGroup(CLUB, "c"), PermissionDeniedError, by=FOUNDER)

    def test_its_id_is_new_and_what_it_is_like_the_deployment_says(self) -> None:
        synced = CreateGroup(CLUB, "c", {"managed_by": ("scim",)})
        world = onehouse()
        world.refuse(CreateGroup(GroupId("ann"), "c"), AlreadyExistsError, by=FOUNDER)
        world.refuse(synced, InvalidError, by=FOUNDER)

        world.do(synced, role(ANN, "manager", CLUB))
        for command in (joining(CLUB, BEN), RenameGroup(CLUB, "d"), DeleteGroup(CLUB)):
            world.refuse(command, PermissionDeniedError, by=ANN)

    def test_who_may_changes_its_people_and_its_name(self) -> None:
        world = y42()
        world.do(role(ANN, "manager", CREW))

        world.do(joining(CREW, BEN), RenameGroup(CREW, "the club"), by=ANN)
        assert world.facts.groups_of(BEN) >= {CREW}
        assert world.store.bodies["group", CREW] == {"name": "the club"}
        world.do(leaving(CREW, BEN), by=ANN)
        assert CREW not in world.facts.groups_of(BEN)

    def test_who_may_not_does_not(self) -> None:
        for command in (joining(CREW, BEN), leaving(CREW, BEN), RenameGroup(CREW, "x"), DeleteGroup(CREW)):
            y42().refuse(command, PermissionDeniedError, by=ANN)
            nekt().refuse(command, NotFoundError, f"no `{CREW}` that you may see", by=ANN)

    def test_nobody_changes_the_group_of_everybody(self) -> None:
        for command in (
            joining(ALL_USERS_GROUP, BEN),
            leaving(ALL_USERS_GROUP, BEN),
            RenameGroup(ALL_USERS_GROUP, "x"),
            DeleteGroup(ALL_USERS_GROUP),
        ):
            nekt().refuse(command, PermissionDeniedError, by=FOUNDER)

    def test_who_joins_has_to_be_there(self) -> None:
        onehouse().refuse(joining(CREW, NOBODY), NotFoundError)
        y42().refuse(joining(CREW, NOBODY), PermissionDeniedError, by=FOUNDER)

    def test_its_assignments_vanish_with_it(self) -> None:
        world = nekt()
        world.do(joining(CREW, ANN), role(CREW, "viewer", "raw"))
        assert world.may(ANN, "table.select", "flights")

        world.do(DeleteGroup(CREW), by=FOUNDER)
        assert not world.may(ANN, "table.select", "flights")
        assert ("group", CREW) not in world.store.bodies

    def test_the_last_who_rules_through_a_group_stays_in_it(self) -> None:
        world = y42()
        world.do(joining(CREW, FOUNDER), role(CREW, "administrator"))
        world.do(RevokeRole(FOUNDER, "administrator", ROOT), by=FOUNDER)

        for command in (leaving(CREW, FOUNDER), DeleteGroup(CREW)):
            world.refuse(command, InvalidError, "somebody always stays", by=FOUNDER)
        world.do(joining(CREW, ANN), by=FOUNDER)
        assert world.do(leaving(CREW, FOUNDER), by=FOUNDER)


def test_nothing_is_made_under_the_name_of_something_else() -> None:
    world = onehouse()
    world.do(CreateResource(ResourceId("p2"), "project", ROOT, "club"))

    world.refuse(CreateGroup(CLUB, "the club"), AlreadyExistsError, by=FOUNDER)
    assert world.facts.children[ROOT]["club"] == "p2"


class TestAdding:
    @pytest.mark.parametrize("made", [nekt, y42, onehouse, datamesh])
    def test_who_may_give_the_role_adds_somebody_with_it(self, made) -> None:  # noqa: ANN001
        world = made()
        world.refuse(AddPrincipal(NEW, "new", "member"), PermissionDeniedError, by=ANN)

        world.do(AddPrincipal(NEW, "new@acme.com", "member"), by=FOUNDER)
        assert world.roles(NEW, ROOT) == {"member"}
        assert "new@acme.com" not in repr(world.store.log)

    def test_a_projects_admin_adds_somebody_to_the_project(self) -> None:
        world = onehouse()
        world.do(role(BEN, "admin", "project"))

        added = AddPrincipal(NEW, "new", "member", ResourceId("project"))
        world.refuse(added, PermissionDeniedError, by=ANN)
        world.do(added, by=BEN)
        assert (world.roles(NEW, "project"), world.roles(NEW, ROOT)) == ({"member"}, set())

    def test_nobody_is_added_with_a_role_that_the_adder_may_not_give(self) -> None:
        world = nekt()
        world.do(role(ANN, "admin"))

        world.refuse(AddPrincipal(NEW, "new", "owner"), PermissionDeniedError, by=ANN)
        world.refuse(AddPrincipal(NEW, "new", "viewer"), PermissionDeniedError, by=ANN)
        world.refuse(AddPrincipal(NEW, "new", "lord"), InvalidError, by=ANN)

    def test_nobody_is_added_twice(self) -> None:
        nekt().refuse(AddPrincipal(ANN, "ann", "member"), AlreadyExistsError, by=FOUNDER)


class TestSigningUp:
    def test_who_comes_alone_gets_what_the_model_gives(self) -> None:
        world = nekt()

        world.do(SignUp(NEW, "new@acme.com", {"domain": ("acme.com",)}))
        assert world.roles(NEW, ROOT) == {"member"}
        assert ALL_USERS_GROUP in world.facts.groups_of(NEW)

    def test_the_deployment_signs_up_and_nobody_twice(self) -> None:
        nekt().refuse(SignUp(NEW, "new"), InvalidError, by=FOUNDER)
        nekt().refuse(SignUp(ANN, "ann"), AlreadyExistsError)
        nekt().refuse(SignUp(PrincipalId(CREW), "crew"), AlreadyExistsError)

    def test_where_nobody_joins_alone_nobody_does(self) -> None:
        y42().refuse(SignUp(NEW, "new"), InvalidError, "nobody joins alone")

    def test_who_is_known_but_has_left_the_organization_comes_back(self) -> None:
        world = nekt()
        world.do(RevokeRole(ANN, "member", ROOT))

        world.do(SignUp(ANN, "ann"))
        assert world.roles(ANN, ROOT) == {"member"}


class TestRemoving:
    def test_somebody_goes_with_everything_that_was_theirs(self) -> None:
        world = nekt()
        world.do(role(ANN, "viewer", "raw"), joining(CREW, ANN), IssueToken(TokenId("t"), "s", ANN))

        facts = world.do(RemovePrincipal(ANN), by=FOUNDER)
        assert not {ANN, "t"} & {*facts.principals, *facts.assignments, *facts.tokens, *facts.memberships}
        assert not {("principal", ANN), ("token", "t")} & world.store.bodies.keys()

    def test_who_manages_users_removes_whose_roles_they_may_take(self) -> None:
        world = nekt()
        world.do(role(ANN, "admin"), role(BEN, "owner"))

        world.refuse(RemovePrincipal(BEN), PermissionDeniedError, by=ANN)
        world.refuse(RemovePrincipal(ANN), PermissionDeniedError, by=EVE)
        world.refuse(RemovePrincipal(NOBODY), NotFoundError, by=ANN)
        assert world.do(RemovePrincipal(EVE), by=ANN)

    def test_the_last_who_rules_stays(self) -> None:
        datamesh().refuse(RemovePrincipal(FOUNDER), InvalidError, "somebody always stays", by=FOUNDER)


class TestServicePrincipals:
    def test_who_makes_one_manages_it_where_the_model_says_so(self) -> None:
        world = onehouse()
        world.refuse(CreateServicePrincipal(NEW, "new"), PermissionDeniedError, by=ANN)

        world.do(CreateServicePrincipal(NEW, "new"), by=FOUNDER)
        assert world.roles(FOUNDER, NEW) == {"manager"}

    def test_it_has_no_role_that_its_maker_may_not_give(self) -> None:
        world = nekt()
        world.do(role(ANN, "admin"))

        world.refuse(CreateServicePrincipal(NEW, "new", "owner"), PermissionDeniedError, by=ANN)
        world.do(CreateServicePrincipal(NEW, "new", "member"), by=ANN)
        assert world.roles(NEW, ROOT) == {"member"}

    @pytest.mark.parametrize(
        ("scope", "place", "holds"),
        [
            ("organization", ROOT, {(ROOT, "owner")}),
            ("team", "shop", {("shop", "team_key"), (ROOT, "member")}),
            ("team_read", "shop", {(ROOT, "reader")}),
        ],
    )
    def test_a_key_has_the_roles_of_its_scope(self, scope: str, place: str, holds: set[tuple[str, str]]) -> None:
        world = datamesh()
        world.do(role(ANN, "owner", "shop"))

        key = CreateServicePrincipal(NEW, "new", scope=scope, place=ResourceId(place))
        world.refuse(key, PermissionDeniedError, by=ANN)
        facts = world.do(key, by=FOUNDER)
        assert {(place, name) for name, place, _ in facts.assignments[NEW]} == holds

    def test_a_team_makes_its_own_keys_where_a_switch_lets_it(self) -> None:
        world = datamesh()
        world.do(role(ANN, "owner", "shop"), ChangeSetting(ROOT, "team_owners_make_keys", "true"))

        key = CreateServicePrincipal(NEW, "new", scope="team", place=ResourceId("shop"))
        assert world.do(key, by=ANN)
        world.refuse(CreateServicePrincipal(NOBODY, "x", scope="organization"), PermissionDeniedError, by=ANN)

    def test_a_scope_has_to_be_one_and_comes_without_a_role(self) -> None:
        for role_, scope in ((None, "galaxy"), ("owner", "organization")):
            key = CreateServicePrincipal(NEW, "new", role_, scope)
            datamesh().refuse(key, InvalidError, "the scopes here are organization, team, team_read")

    def test_its_id_is_new(self) -> None:
        onehouse().refuse(CreateServicePrincipal(BOT, "bot"), AlreadyExistsError, by=FOUNDER)

    def test_its_manager_deletes_it_and_nobody_else(self) -> None:
        world = onehouse()
        world.do(role(ANN, "user", BOT), IssueToken(TokenId("t"), "s", BOT))
        world.refuse(DeleteServicePrincipal(BOT), PermissionDeniedError, by=ANN)

        world.do(role(ANN, "manager", BOT))
        facts = world.do(DeleteServicePrincipal(BOT), by=ANN)
        assert not {BOT, "t"} & {*facts.principals, *facts.tokens, *facts.resources}

    def test_a_user_is_no_service_principal(self) -> None:
        onehouse().refuse(DeleteServicePrincipal(ANN), NotFoundError, by=FOUNDER)
        onehouse().refuse(ExpirePrincipal(ANN, 2_000.0), NotFoundError, by=FOUNDER)

    def test_an_expired_one_has_no_rights(self) -> None:
        world = y42()
        world.do(role(BOT, "viewer", "space"))
        world.refuse(ExpirePrincipal(BOT, 2_000.0), PermissionDeniedError, by=ANN)

        world.do(role(ANN, "manager", BOT))
        world.do(ExpirePrincipal(BOT, 2_000.0), by=ANN)
        assert world.may(BOT, "project.read", "space")
        world.now = 2_000.0
        assert not world.may(BOT, "project.read", "space")
