"""Who may know who is here, and what a name says to anybody else."""

from collections.abc import Callable

import pytest

from headgate.control.access.visibility import may_list_users, may_see_subject, resolve_subject_for
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
    World,
    datamesh,
    nekt,
    onehouse,
    role,
    y42,
)


def sees(world: World, who: PrincipalId) -> bool:
    return may_list_users(world.control.answers, Caller(who), world.now)


def knows(world: World, who: PrincipalId, subject: SubjectId) -> bool:
    return may_see_subject(world.control.answers, Caller(who), subject, world.now)


class TestEverybody:
    @pytest.mark.parametrize("begin", [nekt, y42, onehouse, datamesh])
    def test_is_known_to_who_rules_the_organization(self, begin: Callable[[], World]) -> None:
        world = begin()

        assert sees(world, FOUNDER)

    @pytest.mark.parametrize("begin", [nekt, onehouse, datamesh])
    def test_is_not_known_to_a_member(self, begin: Callable[[], World]) -> None:
        world = begin()

        assert not sees(world, ANN)
        assert knows(world, ANN, ANN)
        assert not knows(world, ANN, BEN)

    def test_is_known_to_who_adds_people_to_a_project(self) -> None:
        world = onehouse()
        world.do(role(ANN, "admin", "project"))

        assert sees(world, ANN)

    def test_is_known_where_the_model_lets_members_read_subjects(self) -> None:
        assert sees(y42(), ANN)


def test_a_group_is_known_to_its_members_and_a_program_to_who_may_discover_it() -> None:
    world = onehouse()
    world.do(role(ANN, "member", CREW), role(BEN, "user", BOT))

    assert knows(world, ANN, CREW)
    assert not knows(world, BEN, CREW)
    assert knows(world, BEN, BOT)
    assert not knows(world, ANN, BOT)


class TestAName:
    def asked(self, who: PrincipalId, place: str, name: str = "viewer", verb: str = "add") -> Question:
        return Question(Caller(who), f"assignment.{verb}", ResourceId(place), role=name)

    def test_means_somebody_to_who_may_give_them_the_role(self) -> None:
        world = nekt()

        assert (
            resolve_subject_for(
                world.control.view((self.asked(FOUNDER, "raw")).caller), self.asked(FOUNDER, "raw"), ANN, "ann"
            )
            == ANN
        )

    def test_that_is_nobodys_is_missing_to_who_may_give_the_role_to_anybody(self) -> None:
        world = datamesh()
        world.do(role(ANN, "owner", "shop"))

        with pytest.raises(NotFoundError, match="nobody is called `zoe`"):
            resolve_subject_for(
                world.control.view((self.asked(ANN, "shop", "editor")).caller),
                self.asked(ANN, "shop", "editor"),
                None,
                "zoe",
            )

    @pytest.mark.parametrize(("begin", "place", "name"), [(nekt, "raw", "viewer"), (datamesh, "shop", "editor")])
    def test_says_nothing_to_anybody_else(self, begin: Callable[[], World], place: str, name: str) -> None:
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

    def test_of_a_role_that_there_is_not_is_told_at_once(self) -> None:
        with pytest.raises(InvalidError, match="no role `king`"):
            resolve_subject_for(
                nekt().control.view(self.asked(ANN, ROOT, "king").caller), self.asked(ANN, ROOT, "king"), None, "zoe"
            )

    def test_is_that_of_a_group_where_either_side_may_take_the_role(self) -> None:
        world = onehouse()
        world.do(role(CREW, "member", "project"), role(CREW, "user", "cluster"), role(EVE, "manager", CREW))
        asked = self.asked(EVE, "cluster", "user", "remove")

        assert resolve_subject_for(world.control.view((asked).caller), asked, CREW, "crew") == CREW
