from collections.abc import Callable

import pytest

from headgate.control.access.assignments import AssignRole, ChangeRole, RevokeRole
from headgate.control.access.roles import DefineRole
from headgate.control.access.switches import ChangeSetting
from headgate.control.kernel.command import PermissionDeniedError
from headgate.control.kernel.errors import AlreadyExistsError, InvalidError, NotFoundError
from headgate.facts.ids import PrincipalId, ResourceId
from tests.control.organization_harness import (
    ANN,
    BEN,
    BOT,
    CREW,
    EVE,
    FOUNDER,
    MODELS,
    ROOT,
    OrganizationHarness,
    datamesh,
    nekt,
    onehouse,
    resource,
    role,
    y42,
)


def taken(subject: str, name: str, place: str = ROOT, reason: str = "") -> RevokeRole:
    return RevokeRole(PrincipalId(subject), name, ResourceId(place), reason)


def changed(subject: str, old: str, new: str, place: str = ROOT) -> ChangeRole:
    return ChangeRole(PrincipalId(subject), old, new, ResourceId(place))


class TestAssigning:
    def test_an_assignment_names_its_model_grantor_dates_and_reason(self) -> None:
        world = nekt()
        world.do(role(ANN, "manager", "raw"))

        facts = world.do(AssignRole(BEN, "viewer", ResourceId("flights"), 3_000.0, 2_000.0, "ticket"), by=ANN)
        given = facts.assignments[BEN][("viewer", ResourceId("flights"), "ticket")]
        assert (given.model, given.grantor, given.starts, given.ends) == ("nekt", ANN, 2_000.0, 3_000.0)

    @pytest.mark.parametrize(
        ("made", "holds", "gives", "to"),
        [
            (nekt, ("manager", "raw"), ("viewer", "raw"), BEN),
            (nekt, ("admin", ROOT), ("manager", "raw"), CREW),
            (y42, ("owner", "space"), ("viewer", "module"), BEN),
            (y42, ("editor", "space"), ("editor", "module"), BEN),
            (y42, ("manager", BOT), ("manager", BOT), BEN),
            (onehouse, ("MANAGE", "one"), ("ALL", "table"), BEN),
            (onehouse, ("manager", "cluster"), ("user", "cluster"), BEN),
            (datamesh, ("owner", "sales"), ("steward", "shop"), BEN),
        ],
    )
    def test_a_caller_with_the_right_role_assigns_a_role(
        self, made: Callable[[], OrganizationHarness], holds: tuple[str, str], gives: tuple[str, str], to: str
    ) -> None:
        world = made()
        with pytest.raises((PermissionDeniedError, NotFoundError)):
            world.do(role(to, *gives), by=ANN)

        world.do(role(ANN, *holds))
        world.do(role(to, *gives), by=ANN)
        assert world.roles(to, gives[1]) == {gives[0]}

    @pytest.mark.parametrize(
        ("made", "holds", "gives", "to"),
        [
            (nekt, ("manager", "raw"), ("manager", "raw"), BEN),
            (nekt, ("manager", "flights"), ("viewer", "raw"), BEN),
            (nekt, ("editor", "raw"), ("viewer", "raw"), BEN),
            (y42, ("editor", "space"), ("viewer", "space"), BEN),
            (y42, ("owner", ROOT), ("administrator", ROOT), BEN),
            (y42, ("owner", "space"), ("guest", "module"), BEN),
            (onehouse, ("manager", "cluster"), ("user", "cluster"), EVE),  # not in the project
            (onehouse, ("manager", "cluster"), ("user", "cluster"), CREW),  # its manager has to agree
            (datamesh, ("approver", "sales"), ("steward", "shop"), BEN),
        ],
    )
    def test_a_caller_without_the_right_role_cannot_assign_a_role(
        self, made: Callable[[], OrganizationHarness], holds: tuple[str, str], gives: tuple[str, str], to: str
    ) -> None:
        world = made()
        world.do(role(ANN, *holds))

        world.refuse(role(to, *gives), PermissionDeniedError, by=ANN)

    def test_a_member_has_one_role_in_each_team(self) -> None:
        world = datamesh()
        world.do(role(ANN, "owner", "shop"), role(BEN, "member", "shop"))

        world.refuse(role(BEN, "editor", "shop"), PermissionDeniedError, by=ANN)

    def test_an_assigner_needs_no_right_to_see_the_resource(self) -> None:
        world = onehouse()
        world.do(role(ANN, "MANAGE", "one"))

        assert not world.may(ANN, "database.describe", "one")
        assert world.do(role(BEN, "SELECT", "one"), by=ANN)

    def test_a_custom_role_is_assigned_under_the_model_that_allows_custom_roles(self) -> None:
        world = datamesh()
        world.do(DefineRole("keeper", ("RESOURCES_EDIT",)), ChangeSetting(ROOT, "role_mode", "custom"))

        facts = world.do(role(ANN, "keeper", "shop"), by=FOUNDER)
        assert facts.assignments[ANN][("keeper", ResourceId("shop"), "")].model == "datamesh"
        assert world.may(ANN, "data_product.edit", "product")

    def test_the_deployment_alone_assigns_under_a_model_other_than_the_governing_one(self) -> None:
        world = OrganizationHarness("nekt", tree="datamesh")
        given = AssignRole(FOUNDER, "member", ROOT, model="datamesh")
        world.refuse(given, InvalidError, "not to `datamesh`", by=FOUNDER)
        world.refuse(AssignRole(FOUNDER, "member", ROOT, model="dream"), InvalidError, "not to `dream`")

        facts = world.do(given)
        assert {each.model for each in facts.assignments[FOUNDER].values()} == {"nekt", "datamesh"}

    def test_the_role_and_the_subject_must_exist(self) -> None:
        nekt().refuse(
            role(ANN, "lord", "raw"), InvalidError, "no role `lord`; its roles on this resource are editor, manager"
        )
        nekt().refuse(role("nobody", "viewer", "raw"), NotFoundError)

    def test_an_assignment_that_ends_before_it_begins_is_refused(self) -> None:
        for starts, ends in ((None, 1_000.0), (2_000.0, 2_000.0)):
            given = AssignRole(ANN, "viewer", ResourceId("raw"), ends, starts)
            nekt().refuse(given, InvalidError, "the end of the assignment is", by=FOUNDER)

    def test_an_assignment_for_another_reason_is_separate(self) -> None:
        world = nekt()

        world.do(AssignRole(ANN, "viewer", ResourceId("raw"), reason="ticket"), role(ANN, "viewer", "raw"))
        world.do(taken(ANN, "viewer", "raw"))
        assert world.may(ANN, "table.select", "flights")

    def test_shortening_an_assignment_requires_the_right_to_revoke_it(self) -> None:
        world = onehouse()
        world.do(role(CREW, "member", "project"), role(ANN, "manager", CREW), role(ANN, "MANAGE", "one"))
        world.do(role(CREW, "SELECT", "one"), by=ANN)

        # Shortening an assignment needs the privilege to revoke it: ann may shorten this one, and without MANAGE could
        # not.
        assert world.do(AssignRole(CREW, "SELECT", ResourceId("one"), 2_000.0), by=ANN)
        plan = world.preview(AssignRole(CREW, "SELECT", ResourceId("one"), 1_500.0), by=ANN)
        assert [each.question.action for each in plan.decisions] == ["assignment.add", "assignment.remove"]
        longer = world.preview(AssignRole(CREW, "SELECT", ResourceId("one")), by=ANN)
        assert [each.question.action for each in longer.decisions] == ["assignment.add"]


class TestRevoking:
    def test_a_manager_revokes_an_editor_role(self) -> None:
        world = nekt()
        world.do(role(ANN, "manager", "raw"), role(BEN, "editor", "raw"))

        world.do(taken(BEN, "editor", "raw"), by=ANN)
        assert not world.roles(BEN, "raw")

    def test_a_manager_cannot_revoke_the_role_of_another_manager(self) -> None:
        world = nekt()
        world.do(role(ANN, "manager", "raw"), role(BEN, "manager", "raw"))

        world.refuse(taken(BEN, "manager", "raw"), PermissionDeniedError, by=ANN)

    def test_a_manager_of_a_group_alone_may_revoke_its_roles(self) -> None:
        world = onehouse()
        world.do(role(CREW, "member", "project"), role(CREW, "user", "cluster"), role(ANN, "manager", CREW))

        assert world.do(taken(CREW, "user", "cluster"), by=ANN)

    def test_an_assignment_is_revoked_only_for_the_reason_it_has(self) -> None:
        world = nekt()
        world.do(role(ANN, "viewer", "raw"))

        world.refuse(taken(ANN, "viewer", "raw", "ticket"), NotFoundError, by=FOUNDER)
        world.refuse(taken(ANN, "editor", "raw"), NotFoundError, by=FOUNDER)

    def test_a_revocation_without_the_reason_of_the_assignment_names_the_reason(self) -> None:
        world = nekt()
        world.do(AssignRole(ANN, "viewer", ResourceId("raw"), reason="ticket"))

        world.refuse(taken(ANN, "viewer", "raw"), NotFoundError, "has the reason `ticket`; name it too", by=FOUNDER)
        world.refuse(
            taken(ANN, "editor", "raw"), NotFoundError, "the subject has no assignment of `editor`", by=FOUNDER
        )

    def test_a_hidden_resource_is_refused_like_a_missing_one(self) -> None:
        for place in ("secret", "nowhere"):
            nekt().refuse(taken(ANN, "viewer", place), NotFoundError, f"no `{place}` that you may see", by=ANN)


class TestChanging:
    def test_a_changed_role_keeps_the_dates_of_the_former_role(self) -> None:
        world = nekt()
        world.do(AssignRole(ANN, "viewer", ResourceId("raw"), 5_000.0))

        facts = world.do(changed(ANN, "viewer", "editor", "raw"), by=FOUNDER)
        assert world.roles(ANN, "raw") == {"editor"}
        assert facts.assignments[ANN][("editor", ResourceId("raw"), "")].ends == 5_000.0

    def test_changing_a_role_requires_the_right_to_change_it(self) -> None:
        world = datamesh()
        world.do(role(ANN, "owner", "shop"), role(BEN, "member", "shop"))

        world.refuse(changed(BEN, "member", "owner", "shop"), PermissionDeniedError, by=BEN)
        world.do(changed(BEN, "member", "editor", "shop"), by=ANN)
        assert world.roles(BEN, "shop") == {"editor"}

    def test_changing_a_role_requires_the_old_role_and_no_assignment_of_the_new_one(self) -> None:
        world = nekt()
        world.do(role(ANN, "viewer", "raw"), role(ANN, "editor", "raw"))

        world.refuse(changed(BEN, "viewer", "editor", "raw"), NotFoundError, by=FOUNDER)
        world.refuse(changed(ANN, "viewer", "editor", "raw"), AlreadyExistsError, by=FOUNDER)
        world.refuse(changed(ANN, "viewer", "lord", "raw"), InvalidError, by=FOUNDER)


@pytest.mark.parametrize("name", MODELS)
def test_the_last_owner_cannot_lose_or_limit_their_role(name: str) -> None:
    world = OrganizationHarness(name)
    founding = next(iter(world.roles(FOUNDER, ROOT)))

    world.refuse(taken(FOUNDER, founding), InvalidError, "the change would leave no owner", by=FOUNDER)
    world.refuse(
        AssignRole(FOUNDER, founding, ROOT, 9_000.0), InvalidError, "the change would leave no owner", by=FOUNDER
    )


def test_an_owner_may_leave_if_another_owner_remains() -> None:
    world = nekt()
    world.do(role(ANN, "owner"))

    assert world.do(taken(FOUNDER, "owner"), by=FOUNDER)


@pytest.mark.parametrize("ends", [5_000.0, None])
def test_an_expiring_role_or_a_service_principal_does_not_replace_the_last_owner(ends: float | None) -> None:
    world = y42()
    world.do(AssignRole(ANN if ends else BOT, "administrator", ROOT, ends))

    world.refuse(taken(FOUNDER, "administrator"), InvalidError, "the change would leave no owner", by=FOUNDER)


def test_the_deployment_may_revoke_the_role_of_the_last_owner() -> None:
    assert nekt().do(taken(FOUNDER, "owner"))


def test_a_resource_below_a_project_that_the_caller_cannot_see_is_hidden() -> None:
    world = onehouse()
    world.do(resource("other", "project", ROOT), resource("far", "cluster", "other"))

    world.refuse(role(BEN, "user", "far"), NotFoundError, by=ANN)
