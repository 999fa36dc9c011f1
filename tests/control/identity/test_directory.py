from collections.abc import Callable

import pytest

from headgate.control.identity.directory import Directory
from headgate.control.identity.groups import CreateGroup, RenameGroup
from headgate.control.identity.principals import AddPrincipal, RemovePrincipal, RenameServicePrincipal
from headgate.control.kernel.batch import Batch
from headgate.control.kernel.errors import InvalidError
from headgate.facts.ids import GroupId, PrincipalId
from tests.control.organization_harness import ANN, BEN, BOT, FOUNDER, OrganizationHarness, nekt, y42

CLUB = GroupId("club")


def directory(world: OrganizationHarness) -> Directory:
    return Directory(world.control, world.store)


def test_the_directory_follows_added_removed_and_renamed_subjects() -> None:
    world = nekt()
    names = directory(world)
    assert names.find("ann@acme.com") == ANN

    world.do(AddPrincipal(PrincipalId("new"), "Zoë", "member"), CreateGroup(CLUB, "club"))
    assert names.find("zoë") == "new"
    world.do(RenameGroup(CLUB, "the club"), RemovePrincipal(ANN))
    assert names.find("the club") == CLUB
    assert names.find("ann@acme.com") is None
    assert names.name(ANN) == "ann"
    assert names.name(CLUB) == "the club"


@pytest.mark.parametrize("change_case", [str.lower, str.upper])
def test_the_id_of_a_removed_user_is_no_name_of_another_user(change_case: Callable[[str], str]) -> None:
    world = nekt()
    removed = PrincipalId("p_" + "0f" * 16)
    imposter = change_case(removed)
    world.do(AddPrincipal(removed, "Zo\xeb", "member"), RemovePrincipal(removed))

    world.refuse(AddPrincipal(PrincipalId("new"), imposter, "member"), InvalidError, "the form of an id", by=FOUNDER)
    # The deployment, and an earlier version, may have created a user with this name.
    world.do(AddPrincipal(PrincipalId("new"), imposter, "member"))

    assert directory(world).find(imposter) is None


def test_a_renamed_service_principal_is_found_by_its_new_name() -> None:
    world = y42()
    names = directory(world)
    assert names.find("the bot") == BOT

    world.do(Batch((RenameServicePrincipal(BOT, "android"),), "service_principal.change"), by=FOUNDER)

    assert names.find("android") == BOT
    assert names.is_free("the bot")


def test_a_name_that_two_users_share_finds_no_user_and_is_not_free() -> None:
    world = nekt()
    names = directory(world)
    for id in ("one", "two"):
        world.do(AddPrincipal(PrincipalId(id), "Sam", "member"))

    assert names.find("sam") is None
    assert not names.is_free("SAM")
    world.do(RemovePrincipal(PrincipalId("one")))
    assert names.find("sam") == "two"


def test_a_look_alike_name_finds_no_user_and_is_not_free() -> None:
    world = nekt()
    names = directory(world)
    world.do(AddPrincipal(PrincipalId("new"), "fiona", "member"))

    assert names.find("FIONA") == "new"
    assert names.find("\ufb01ona") is None
    assert not names.is_free("\ufb01ona")


def test_an_id_takes_precedence_over_a_name() -> None:
    world = nekt()
    world.do(AddPrincipal(PrincipalId("new"), "ben", "member"))

    assert directory(world).find("ben") == BEN
    assert directory(world).find("All") == "All"


def test_an_updated_directory_equals_a_fresh_one() -> None:
    world = nekt()
    names = directory(world)
    for number in range(5):
        world.do(AddPrincipal(PrincipalId(f"p{number}"), f"user {number}", "member"))
        names.find("nobody")
        if number % 2:
            world.do(RemovePrincipal(PrincipalId(f"p{number // 2}")))

    fresh = directory(world)
    ids = (*world.facts.principals, *world.facts.groups)
    assert {id: names.name(id) for id in ids} == {id: fresh.name(id) for id in ids}
    assert [names.find(f"user {each}") for each in range(5)] == [fresh.find(f"user {each}") for each in range(5)]
