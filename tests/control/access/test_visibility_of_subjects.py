"""Visibility of subjects: which callers may discover a principal or group, and the answers to all others."""

from collections.abc import Callable

import pytest

from headgate.control.access.subject_resolution import resolve_subject_for
from headgate.control.access.visibility import may_list_users, may_see_subject
from headgate.control.kernel.command import PermissionDeniedError
from headgate.control.kernel.errors import InvalidError, NotFoundError
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId, SubjectId
from tests.control.organization_harness import (
    ANN,
    BEN,
    BOT,
    CREW,
    EVE,
    FOUNDER,
    ROOT,
    OrganizationHarness,
    datamesh,
    nekt,
    onehouse,
    role,
    y42,
)


def sees(world: OrganizationHarness, who: PrincipalId) -> bool:
    return may_list_users(world.control.answers, Caller(who), world.now)


def knows(world: OrganizationHarness, who: PrincipalId, subject: SubjectId) -> bool:
    return may_see_subject(world.control.answers, Caller(who), subject, world.now)


class TestEverybody:
    @pytest.mark.parametrize("begin", [nekt, y42, onehouse, datamesh])
    def test_an_owner_of_the_organization_may_list_all_users(self, begin: Callable[[], OrganizationHarness]) -> None:
        world = begin()

        assert sees(world, FOUNDER)

    @pytest.mark.parametrize("begin", [nekt, onehouse, datamesh])
    def test_a_member_sees_only_themselves(self, begin: Callable[[], OrganizationHarness]) -> None:
        world = begin()

        assert not sees(world, ANN)
        assert knows(world, ANN, ANN)
        assert not knows(world, ANN, BEN)

    def test_a_project_admin_may_list_all_users(self) -> None:
        world = onehouse()
        world.do(role(ANN, "admin", "project"))

        assert sees(world, ANN)

    def test_a_member_may_list_all_users_if_the_model_lets_members_read_subjects(self) -> None:
        assert sees(y42(), ANN)


def test_members_see_their_group_and_users_of_a_service_principal_see_it() -> None:
    world = onehouse()
    world.do(role(ANN, "member", CREW), role(BEN, "user", BOT))

    assert knows(world, ANN, CREW)
    assert not knows(world, BEN, CREW)
    assert knows(world, BEN, BOT)
    assert not knows(world, ANN, BOT)


class TestAName:
    def asked(self, who: PrincipalId, place: str, name: str = "viewer", verb: str = "add") -> Question:
        return Question(Caller(who), f"assignment.{verb}", ResourceId(place), role=name)

    def test_a_name_is_resolved_for_a_caller_that_may_assign_the_role(self) -> None:
        world = nekt()

        assert (
            resolve_subject_for(
                world.control.view((self.asked(FOUNDER, "raw")).caller), self.asked(FOUNDER, "raw"), ANN, "ann"
            )
            == ANN
        )

    def test_an_unknown_name_is_not_found_for_a_caller_that_may_assign_to_any_user(self) -> None:
        world = datamesh()
        world.do(role(ANN, "owner", "shop"))

        with pytest.raises(NotFoundError, match="the name `zoe` matches no user"):
            resolve_subject_for(
                world.control.view((self.asked(ANN, "shop", "editor")).caller),
                self.asked(ANN, "shop", "editor"),
                None,
                "zoe",
            )

    @pytest.mark.parametrize(("begin", "place", "name"), [(nekt, "raw", "viewer"), (datamesh, "shop", "editor")])
    def test_a_known_and_an_unknown_name_are_refused_alike_to_any_other_caller(
        self, begin: Callable[[], OrganizationHarness], place: str, name: str
    ) -> None:
        world = begin()
        if place == "raw":
            world.do(role(EVE, "viewer", "raw"))

        refusals: list[str] = []
        for found in (ANN, None):
            with pytest.raises(PermissionDeniedError) as refusal:
                resolve_subject_for(
                    world.control.view((self.asked(EVE, place, name)).caller),
                    self.asked(EVE, place, name),
                    found,
                    "ann",
                )
            refusals.append(f"{refusal.value} {refusal.value.explanation.decision.missing}")

        assert refusals[0] == refusals[1]

    def test_an_unknown_role_is_refused_before_the_name_is_resolved(self) -> None:
        with pytest.raises(InvalidError, match="no role `king`"):
            resolve_subject_for(
                nekt().control.view(self.asked(ANN, ROOT, "king").caller), self.asked(ANN, ROOT, "king"), None, "zoe"
            )

    def test_a_group_name_is_resolved_for_a_group_manager_that_may_revoke_the_role(self) -> None:
        world = onehouse()
        world.do(role(CREW, "member", "project"), role(CREW, "user", "cluster"), role(EVE, "manager", CREW))
        asked = self.asked(EVE, "cluster", "user", "remove")

        assert resolve_subject_for(world.control.view((asked).caller), asked, CREW, "crew") == CREW
