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
    World,
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
    def test_it_names_its_model_its_grantor_its_dates_and_what_it_is_for(self) -> None:
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
    def test_who_may_give_it_there_does(
        self, made: Callable[[], World], holds: tuple[str, str], gives: tuple[str, str], to: str
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
            (onehouse, ("manager", "cluster"), ("user", "cluster"), EVE),  # who is not in the project
            (onehouse, ("manager", "cluster"), ("user", "cluster"), CREW),  # whose manager has to agree
            (datamesh, ("approver", "sales"), ("steward", "shop"), BEN),
        ],
    )
    def test_who_may_not_give_it_there_does_not(
        self, made: Callable[[], World], holds: tuple[str, str], gives: tuple[str, str], to: str
    ) -> None:
        world = made()
        world.do(role(ANN, *holds))

        world.refuse(role(to, *gives), PermissionDeniedError, by=ANN)

    def test_one_role_for_each_team(self) -> None:
        world = datamesh()
        world.do(role(ANN, "owner", "shop"), role(BEN, "member", "shop"))

        world.refuse(role(BEN, "editor", "shop"), PermissionDeniedError, by=ANN)

    def test_who_may_give_it_needs_not_see_the_place(self) -> None:
        world = onehouse()
        world.do(role(ANN, "MANAGE", "one"))

        assert not world.may(ANN, "database.describe", "one")
        assert world.do(role(BEN, "SELECT", "one"), by=ANN)

    def test_a_role_of_the_organizations_own_is_given_under_the_model_that_has_such_roles(self) -> None:
        world = datamesh()
        world.do(DefineRole("keeper", ("RESOURCES_EDIT",)), ChangeSetting(ROOT, "role_mode", "custom"))

        facts = world.do(role(ANN, "keeper", "shop"), by=FOUNDER)
        assert facts.assignments[ANN][("keeper", ResourceId("shop"), "")].model == "datamesh"
        assert world.may(ANN, "data_product.edit", "product")

    def test_only_the_deployment_names_another_model_than_decides_there(self) -> None:
        world = World("nekt", tree="datamesh")
        given = AssignRole(FOUNDER, "member", ROOT, model="datamesh")
        world.refuse(given, InvalidError, "not of `datamesh`", by=FOUNDER)
        world.refuse(AssignRole(FOUNDER, "member", ROOT, model="dream"), InvalidError, "not of `dream`")

        facts = world.do(given)
        assert {each.model for each in facts.assignments[FOUNDER].values()} == {"nekt", "datamesh"}

    def test_the_role_and_the_subject_have_to_exist(self) -> None:
        nekt().refuse(role(ANN, "lord", "raw"), InvalidError, "no role `lord`; on this there are editor, manager")
        nekt().refuse(role("nobody", "viewer", "raw"), NotFoundError)

    def test_the_dates_have_to_follow_each_other(self) -> None:
        for starts, ends in ((None, 1_000.0), (2_000.0, 2_000.0)):
            given = AssignRole(ANN, "viewer", ResourceId("raw"), ends, starts)
            nekt().refuse(given, InvalidError, "end before it begins", by=FOUNDER)

    def test_a_second_one_for_another_reason_is_a_second_one(self) -> None:
        world = nekt()

        world.do(AssignRole(ANN, "viewer", ResourceId("raw"), reason="ticket"), role(ANN, "viewer", "raw"))
        world.do(taken(ANN, "viewer", "raw"))
        assert world.may(ANN, "table.select", "flights")

    def test_cutting_one_short_is_taking_it_away(self) -> None:
        world = onehouse()
        world.do(role(CREW, "member", "project"), role(ANN, "manager", CREW), role(ANN, "MANAGE", "one"))
        world.do(role(CREW, "SELECT", "one"), by=ANN)

        # Whoever gives may shorten only what they may take: here both, and without MANAGE neither.
        assert world.do(AssignRole(CREW, "SELECT", ResourceId("one"), 2_000.0), by=ANN)
        plan = world.preview(AssignRole(CREW, "SELECT", ResourceId("one"), 1_500.0), by=ANN)
        assert [each.question.action for each in plan.decisions] == ["assignment.add", "assignment.remove"]
        longer = world.preview(AssignRole(CREW, "SELECT", ResourceId("one")), by=ANN)
        assert [each.question.action for each in longer.decisions] == ["assignment.add"]


class TestRevoking:
    def test_who_may_take_it_does(self) -> None:
        world = nekt()
        world.do(role(ANN, "manager", "raw"), role(BEN, "editor", "raw"))

        world.do(taken(BEN, "editor", "raw"), by=ANN)
        assert not world.roles(BEN, "raw")

    def test_who_may_not_take_it_does_not(self) -> None:
        world = nekt()
        world.do(role(ANN, "manager", "raw"), role(BEN, "manager", "raw"))

        world.refuse(taken(BEN, "manager", "raw"), PermissionDeniedError, by=ANN)

    def test_to_take_from_a_group_one_side_is_enough(self) -> None:
        world = onehouse()
        world.do(role(CREW, "member", "project"), role(CREW, "user", "cluster"), role(ANN, "manager", CREW))

        assert world.do(taken(CREW, "user", "cluster"), by=ANN)

    def test_it_has_to_be_held_for_that_reason(self) -> None:
        world = nekt()
        world.do(role(ANN, "viewer", "raw"))

        world.refuse(taken(ANN, "viewer", "raw", "ticket"), NotFoundError, by=FOUNDER)
        world.refuse(taken(ANN, "editor", "raw"), NotFoundError, by=FOUNDER)

    def test_a_hidden_place_is_as_missing(self) -> None:
        for place in ("secret", "nowhere"):
            nekt().refuse(taken(ANN, "viewer", place), NotFoundError, f"no `{place}` that you may see", by=ANN)


class TestChanging:
    def test_it_replaces_the_one_by_the_other_with_its_dates(self) -> None:
        world = nekt()
        world.do(AssignRole(ANN, "viewer", ResourceId("raw"), 5_000.0))

        facts = world.do(changed(ANN, "viewer", "editor", "raw"), by=FOUNDER)
        assert world.roles(ANN, "raw") == {"editor"}
        assert facts.assignments[ANN][("editor", ResourceId("raw"), "")].ends == 5_000.0

    def test_it_needs_the_right_to_change(self) -> None:
        world = datamesh()
        world.do(role(ANN, "owner", "shop"), role(BEN, "member", "shop"))

        world.refuse(changed(BEN, "member", "owner", "shop"), PermissionDeniedError, by=BEN)
        world.do(changed(BEN, "member", "editor", "shop"), by=ANN)
        assert world.roles(BEN, "shop") == {"editor"}

    def test_the_one_has_to_be_held_and_the_other_not(self) -> None:
        world = nekt()
        world.do(role(ANN, "viewer", "raw"), role(ANN, "editor", "raw"))

        world.refuse(changed(BEN, "viewer", "editor", "raw"), NotFoundError, by=FOUNDER)
        world.refuse(changed(ANN, "viewer", "editor", "raw"), AlreadyExistsError, by=FOUNDER)
        world.refuse(changed(ANN, "viewer", "lord", "raw"), InvalidError, by=FOUNDER)


@pytest.mark.parametrize("name", MODELS)
def test_somebody_always_stays_who_can_give_every_role(name: str) -> None:
    world = World(name)
    founding = next(iter(world.roles(FOUNDER, ROOT)))

    world.refuse(taken(FOUNDER, founding), InvalidError, "somebody always stays", by=FOUNDER)
    world.refuse(AssignRole(FOUNDER, founding, ROOT, 9_000.0), InvalidError, "somebody always stays", by=FOUNDER)


def test_who_is_followed_by_another_may_go() -> None:
    world = nekt()
    world.do(role(ANN, "owner"))

    assert world.do(taken(FOUNDER, "owner"), by=FOUNDER)


@pytest.mark.parametrize("ends", [5_000.0, None])
def test_one_with_an_end_or_a_machine_is_no_follower(ends: float | None) -> None:
    world = y42()
    world.do(AssignRole(ANN if ends else BOT, "administrator", ROOT, ends))

    world.refuse(taken(FOUNDER, "administrator"), InvalidError, "somebody always stays", by=FOUNDER)


def test_the_deployment_may_do_without() -> None:
    assert nekt().do(taken(FOUNDER, "owner"))


def test_what_is_given_below_another_project_than_one_sees_is_hidden() -> None:
    world = onehouse()
    world.do(resource("other", "project", ROOT), resource("far", "cluster", "other"))

    world.refuse(role(BEN, "user", "far"), NotFoundError, by=ANN)
