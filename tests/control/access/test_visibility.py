"""Groups, users and service principals: created, changed and deleted."""

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
    def test_the_creator_of_a_group_manages_it_if_the_model_says_so(self) -> None:
        for world, roles in ((onehouse(), {"manager"}), (nekt(), set[str]())):
            world.do(CreateGroup(CLUB, "the club"), by=FOUNDER)
            assert world.roles(FOUNDER, CLUB) == roles
            assert world.store.bodies["group", CLUB] == {"name": "the club"}

    def test_creating_a_group_is_refused_to_members_and_on_the_starter_plan(self) -> None:
        world = nekt()
        world.refuse(CreateGroup(CLUB, "c"), PermissionDeniedError, by=ANN)
        world.do(ChangeSetting(ROOT, "plan", "starter"))

        world.refuse(CreateGroup(CLUB, "c"), PermissionDeniedError, by=FOUNDER)

    def test_a_new_group_needs_a_new_id_and_gets_attributes_from_the_deployment_only(self) -> None:
        synced = CreateGroup(CLUB, "c", {"managed_by": ("scim",)})
        world = onehouse()
        world.refuse(CreateGroup(GroupId("ann"), "c"), AlreadyExistsError, by=FOUNDER)
        world.refuse(synced, InvalidError, by=FOUNDER)

        world.do(synced, role(ANN, "manager", CLUB))
        for command in (joining(CLUB, BEN), RenameGroup(CLUB, "d"), DeleteGroup(CLUB)):
            world.refuse(command, PermissionDeniedError, by=ANN)

    def test_a_manager_changes_the_members_and_the_name_of_a_group(self) -> None:
        world = y42()
        world.do(role(ANN, "manager", CREW))

        world.do(joining(CREW, BEN), RenameGroup(CREW, "the club"), by=ANN)
        assert world.facts.groups_of(BEN) >= {CREW}
        assert world.store.bodies["group", CREW] == {"name": "the club"}
        world.do(leaving(CREW, BEN), by=ANN)
        assert CREW not in world.facts.groups_of(BEN)

    def test_a_member_cannot_change_or_delete_a_group(self) -> None:
        for command in (joining(CREW, BEN), leaving(CREW, BEN), RenameGroup(CREW, "x"), DeleteGroup(CREW)):
            y42().refuse(command, PermissionDeniedError, by=ANN)
            nekt().refuse(command, NotFoundError, f"no `{CREW}` that you may see", by=ANN)

    def test_an_owner_cannot_change_the_group_of_all_users(self) -> None:
        for command in (
            joining(ALL_USERS_GROUP, BEN),
            leaving(ALL_USERS_GROUP, BEN),
            RenameGroup(ALL_USERS_GROUP, "x"),
            DeleteGroup(ALL_USERS_GROUP),
        ):
            nekt().refuse(command, PermissionDeniedError, by=FOUNDER)

    def test_a_missing_principal_cannot_join_a_group(self) -> None:
        onehouse().refuse(joining(CREW, NOBODY), NotFoundError)
        y42().refuse(joining(CREW, NOBODY), PermissionDeniedError, by=FOUNDER)

    def test_deleting_a_group_deletes_its_assignments(self) -> None:
        world = nekt()
        world.do(joining(CREW, ANN), role(CREW, "viewer", "raw"))
        assert world.may(ANN, "table.select", "flights")

        world.do(DeleteGroup(CREW), by=FOUNDER)
        assert not world.may(ANN, "table.select", "flights")
        assert ("group", CREW) not in world.store.bodies

    def test_the_last_administrator_through_a_group_cannot_leave_it(self) -> None:
        world = y42()
        world.do(joining(CREW, FOUNDER), role(CREW, "administrator"))
        world.do(RevokeRole(FOUNDER, "administrator", ROOT), by=FOUNDER)

        for command in (leaving(CREW, FOUNDER), DeleteGroup(CREW)):
            world.refuse(command, InvalidError, "the change would leave no owner", by=FOUNDER)
        world.do(joining(CREW, ANN), by=FOUNDER)
        assert world.do(leaving(CREW, FOUNDER), by=FOUNDER)


def test_a_group_id_that_is_the_name_of_a_resource_is_refused() -> None:
    world = onehouse()
    world.do(CreateResource(ResourceId("p2"), "project", ROOT, "club"))

    world.refuse(CreateGroup(CLUB, "the club"), AlreadyExistsError, by=FOUNDER)
    assert world.facts.children[ROOT]["club"] == "p2"


class TestAdding:
    @pytest.mark.parametrize("made", [nekt, y42, onehouse, datamesh])
    def test_a_caller_that_may_assign_a_role_adds_a_user_with_it(self, made) -> None:  # noqa: ANN001
        world = made()
        world.refuse(AddPrincipal(NEW, "new", "member"), PermissionDeniedError, by=ANN)

        world.do(AddPrincipal(NEW, "new@acme.com", "member"), by=FOUNDER)
        assert world.roles(NEW, ROOT) == {"member"}
        assert "new@acme.com" not in repr(world.store.log)

    def test_a_project_admin_adds_a_user_to_the_project(self) -> None:
        world = onehouse()
        world.do(role(BEN, "admin", "project"))

        added = AddPrincipal(NEW, "new", "member", ResourceId("project"))
        world.refuse(added, PermissionDeniedError, by=ANN)
        world.do(added, by=BEN)
        assert (world.roles(NEW, "project"), world.roles(NEW, ROOT)) == ({"member"}, set())

    def test_a_user_cannot_be_added_with_a_role_that_the_caller_may_not_assign(self) -> None:
        world = nekt()
        world.do(role(ANN, "admin"))

        world.refuse(AddPrincipal(NEW, "new", "owner"), PermissionDeniedError, by=ANN)
        world.refuse(AddPrincipal(NEW, "new", "viewer"), PermissionDeniedError, by=ANN)
        world.refuse(AddPrincipal(NEW, "new", "lord"), InvalidError, by=ANN)

    def test_a_user_cannot_be_added_twice(self) -> None:
        nekt().refuse(AddPrincipal(ANN, "ann", "member"), AlreadyExistsError, by=FOUNDER)


class TestSigningUp:
    def test_a_user_that_signs_up_gets_the_role_that_the_model_names(self) -> None:
        world = nekt()

        world.do(SignUp(NEW, "new@acme.com", {"domain": ("acme.com",)}))
        assert world.roles(NEW, ROOT) == {"member"}
        assert ALL_USERS_GROUP in world.facts.groups_of(NEW)

    def test_the_deployment_alone_signs_up_a_user_and_only_once(self) -> None:
        nekt().refuse(SignUp(NEW, "new"), InvalidError, by=FOUNDER)
        nekt().refuse(SignUp(ANN, "ann"), AlreadyExistsError)
        nekt().refuse(SignUp(PrincipalId(CREW), "crew"), AlreadyExistsError)

    def test_sign_up_is_refused_if_the_model_allows_none(self) -> None:
        y42().refuse(SignUp(NEW, "new"), InvalidError, "does not let users join by themselves")

    def test_a_user_that_left_the_organization_may_sign_up_again(self) -> None:
        world = nekt()
        world.do(RevokeRole(ANN, "member", ROOT))

        world.do(SignUp(ANN, "ann"))
        assert world.roles(ANN, ROOT) == {"member"}


class TestRemoving:
    def test_removing_a_user_deletes_their_assignments_memberships_and_tokens(self) -> None:
        world = nekt()
        world.do(role(ANN, "viewer", "raw"), joining(CREW, ANN), IssueToken(TokenId("t"), "s", ANN))

        facts = world.do(RemovePrincipal(ANN), by=FOUNDER)
        assert not {ANN, "t"} & {*facts.principals, *facts.assignments, *facts.tokens, *facts.memberships}
        assert not {("principal", ANN), ("token", "t")} & world.store.bodies.keys()

    def test_a_user_manager_removes_only_users_with_roles_that_they_may_revoke(self) -> None:
        world = nekt()
        world.do(role(ANN, "admin"), role(BEN, "owner"))

        world.refuse(RemovePrincipal(BEN), PermissionDeniedError, by=ANN)
        world.refuse(RemovePrincipal(ANN), PermissionDeniedError, by=EVE)
        world.refuse(RemovePrincipal(NOBODY), NotFoundError, by=ANN)
        assert world.do(RemovePrincipal(EVE), by=ANN)

    def test_the_last_owner_cannot_be_removed(self) -> None:
        datamesh().refuse(RemovePrincipal(FOUNDER), InvalidError, "the change would leave no owner", by=FOUNDER)


class TestServicePrincipals:
    def test_the_creator_of_a_service_principal_manages_it_if_the_model_says_so(self) -> None:
        world = onehouse()
        world.refuse(CreateServicePrincipal(NEW, "new"), PermissionDeniedError, by=ANN)

        world.do(CreateServicePrincipal(NEW, "new"), by=FOUNDER)
        assert world.roles(FOUNDER, NEW) == {"manager"}

    def test_a_service_principal_gets_no_role_that_its_creator_may_not_assign(self) -> None:
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
    def test_a_datamesh_key_has_the_roles_of_its_scope(
        self, scope: str, place: str, holds: set[tuple[str, str]]
    ) -> None:
        world = datamesh()
        world.do(role(ANN, "owner", "shop"))

        key = CreateServicePrincipal(NEW, "new", scope=scope, place=ResourceId(place))
        world.refuse(key, PermissionDeniedError, by=ANN)
        facts = world.do(key, by=FOUNDER)
        assert {(place, name) for name, place, _ in facts.assignments[NEW]} == holds

    def test_a_team_owner_creates_team_keys_if_a_setting_allows_it(self) -> None:
        world = datamesh()
        world.do(role(ANN, "owner", "shop"), ChangeSetting(ROOT, "team_owners_make_keys", "true"))

        key = CreateServicePrincipal(NEW, "new", scope="team", place=ResourceId("shop"))
        assert world.do(key, by=ANN)
        world.refuse(CreateServicePrincipal(NOBODY, "x", scope="organization"), PermissionDeniedError, by=ANN)

    def test_an_unknown_scope_or_a_scope_with_a_role_is_refused(self) -> None:
        unknown = CreateServicePrincipal(NEW, "new", scope="galaxy")
        datamesh().refuse(unknown, InvalidError, "no scope `galaxy`; its scopes are organization, team, team_read")
        both = CreateServicePrincipal(NEW, "new", "owner", "organization")
        datamesh().refuse(both, InvalidError, "gets its access either from `role` or from `scope`")

    def test_a_service_principal_needs_a_new_id(self) -> None:
        onehouse().refuse(CreateServicePrincipal(BOT, "bot"), AlreadyExistsError, by=FOUNDER)

    def test_a_manager_of_a_service_principal_deletes_it_and_its_user_cannot(self) -> None:
        world = onehouse()
        world.do(role(ANN, "user", BOT), IssueToken(TokenId("t"), "s", BOT))
        world.refuse(DeleteServicePrincipal(BOT), PermissionDeniedError, by=ANN)

        world.do(role(ANN, "manager", BOT))
        facts = world.do(DeleteServicePrincipal(BOT), by=ANN)
        assert not {BOT, "t"} & {*facts.principals, *facts.tokens, *facts.resources}

    def test_a_user_cannot_be_deleted_or_expired_as_a_service_principal(self) -> None:
        onehouse().refuse(DeleteServicePrincipal(ANN), NotFoundError, by=FOUNDER)
        onehouse().refuse(ExpirePrincipal(ANN, 2_000.0), NotFoundError, by=FOUNDER)

    def test_an_expired_service_principal_has_no_rights(self) -> None:
        world = y42()
        world.do(role(BOT, "viewer", "space"))
        world.refuse(ExpirePrincipal(BOT, 2_000.0), PermissionDeniedError, by=ANN)

        world.do(role(ANN, "manager", BOT))
        world.do(ExpirePrincipal(BOT, 2_000.0), by=ANN)
        assert world.may(BOT, "project.read", "space")
        world.now = 2_000.0
        assert not world.may(BOT, "project.read", "space")
