from headgate.control.identity.groups import ChangeMembership
from headgate.control.identity.tokens import IssueToken, RevokeToken, matches
from headgate.control.kernel.command import PermissionDeniedError
from headgate.control.kernel.errors import AlreadyExistsError, InvalidError, NotFoundError
from headgate.facts.caller import Caller
from headgate.facts.changes import RunStarted
from headgate.facts.ids import PrincipalId, ResourceId, RunId, TokenId
from tests.control.organization_harness import ANN, BEN, BOT, CREW, EVE, FOUNDER, nekt, onehouse, role

T, U = TokenId("t"), TokenId("u")


def token(
    principal: PrincipalId,
    id: TokenId = T,
    *,
    ends: float | None = None,
    only: tuple[str, ...] | None = None,
    actions: tuple[str, ...] | None = None,
    parent: str | None = None,
    replaces: TokenId | None = None,
) -> IssueToken:
    places = None if only is None else tuple(map(ResourceId, only))
    return IssueToken(
        id, "s3cret", principal, "", ends, places, actions, ResourceId(parent) if parent else None, replaces
    )


class TestOnesOwn:
    def test_a_user_issues_and_revokes_their_own_token(self) -> None:
        world = nekt()

        facts = world.do(token(ANN, ends=2_000.0), by=ANN)
        assert facts.tokens[T].ends == 2_000.0
        assert "s3cret" not in repr(world.store.log)
        assert matches(world.store.bodies["token", T], "s3cret")
        world.do(RevokeToken(T), by=ANN)
        assert ("token", T) not in world.store.bodies

    def test_a_narrowed_token_may_do_no_more_than_it_lists(self) -> None:
        world = nekt()
        world.do(role(ANN, "editor", "raw"))
        world.do(token(ANN, only=("flights",), actions=("table.select",)), by=ANN)
        narrowed = Caller(ANN, T)

        world.do(role(ANN, "owner"))
        world.refuse(token(ANN, U), InvalidError, "limited to some resources or actions", by=narrowed)
        world.do(token(ANN, U), by=ANN)
        world.refuse(RevokeToken(U), InvalidError, "limited to some resources or actions", by=narrowed)
        assert world.do(RevokeToken(T), by=narrowed)

    def test_a_token_cannot_list_a_resource_that_its_user_may_not_see(self) -> None:
        for place in ("salaries", "nowhere"):
            nekt().refuse(token(ANN, only=(place,)), NotFoundError, f"no `{place}` that you may see", by=ANN)

    def test_an_expiring_token_cannot_issue_a_token_that_lasts_longer(self) -> None:
        world = nekt()
        world.do(token(ANN, ends=2_000.0))

        for ends in (None, 2_001.0):
            world.refuse(token(ANN, U, ends=ends), InvalidError, "your token expires earlier", by=Caller(ANN, T))
        assert world.do(token(ANN, U, ends=2_000.0), by=Caller(ANN, T))

    def test_a_token_needs_an_end_in_the_future_and_a_new_id(self) -> None:
        nekt().refuse(token(ANN, ends=1_000.0), InvalidError, by=ANN)
        nekt().refuse(token(ANN, TokenId("crew")), AlreadyExistsError, by=ANN)

    def test_a_replacement_token_revokes_the_former_one(self) -> None:
        world = nekt()
        world.do(token(ANN), by=ANN)

        facts = world.do(token(ANN, U, replaces=T), by=ANN)
        assert set(facts.tokens) == {U}

    def test_a_token_cannot_replace_a_token_of_another_principal(self) -> None:
        world = nekt()
        world.do(token(BEN))

        world.refuse(token(ANN, U, replaces=T), NotFoundError, by=ANN)
        world.refuse(token(ANN, U, replaces=TokenId("gone")), NotFoundError, by=ANN)

    def test_a_run_cannot_issue_or_revoke_tokens(self) -> None:
        world = nekt()
        world.do(token(ANN))
        world.store.write(RunStarted(RunId("run"), ResourceId("flights"), ANN))
        world.do(role(BEN, "viewer", "raw"))
        run = Caller(ANN, run=RunId("run"))

        world.refuse(token(ANN, U), InvalidError, by=run)
        world.refuse(RevokeToken(T), InvalidError, by=run)


class TestAnothers:
    def test_a_caller_that_may_assign_all_roles_of_another_user_issues_their_token(self) -> None:
        world = nekt()
        world.do(role(ANN, "admin"), role(BEN, "owner"))

        world.refuse(token(BEN), PermissionDeniedError, by=ANN)
        world.refuse(token(ANN), PermissionDeniedError, by=EVE)
        assert world.do(token(EVE), by=ANN)

    def test_roles_on_other_resources_and_through_groups_count_for_issuing_a_token(self) -> None:
        world = onehouse()
        world.do(role(EVE, "admin", "project"))
        world.refuse(token(EVE), PermissionDeniedError, by=FOUNDER)

        other = nekt()
        other.do(role(ANN, "admin"), ChangeMembership(CREW, EVE, member=True), role(CREW, "manager", "raw"))
        plan = other.preview(token(EVE), by=ANN)
        assert ("manager", CREW) in {(each.question.role, each.question.subject) for each in plan.decisions}

    def test_a_user_of_a_service_principal_issues_and_its_manager_revokes_its_tokens(self) -> None:
        world = onehouse()
        world.refuse(token(BOT), NotFoundError, by=FOUNDER)

        world.do(role(ANN, "user", BOT), role(BEN, "manager", BOT))
        facts = world.do(token(BOT), by=ANN)
        assert facts.resources[ResourceId(T)].parent == BOT
        world.refuse(RevokeToken(T), NotFoundError, by=ANN)
        assert world.do(RevokeToken(T), by=BEN)

    def test_a_project_token_is_issued_by_a_project_admin_only(self) -> None:
        world = onehouse()
        world.do(role(BEN, "admin", "project"))

        world.refuse(token(ANN, parent="project"), PermissionDeniedError, by=ANN)
        facts = world.do(token(BEN, parent="project"), by=BEN)
        assert facts.resources[ResourceId(T)].parent == "project"

    def test_a_caller_revokes_tokens_only_of_users_that_they_may_remove(self) -> None:
        world = nekt()
        world.do(role(ANN, "admin"), token(FOUNDER), token(BEN, U))

        world.refuse(RevokeToken(T), PermissionDeniedError, by=ANN)
        world.refuse(RevokeToken(U), PermissionDeniedError, by=EVE)
        assert world.do(RevokeToken(U), by=ANN)

    def test_a_missing_principal_or_token_is_not_found(self) -> None:
        nekt().refuse(token(PrincipalId("nobody")), NotFoundError, by=FOUNDER)
        nekt().refuse(RevokeToken(T), NotFoundError, by=FOUNDER)
