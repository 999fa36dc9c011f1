"""Names of users, service principals and groups: no two may look alike."""

import pytest

from headgate.control.identity.directory import Directory
from headgate.control.identity.groups import CreateGroup
from headgate.control.identity.principals import AddPrincipal, CreateServicePrincipal
from headgate.control.kernel.display_names import confusable_key
from headgate.control.kernel.errors import InvalidError
from headgate.facts.ids import GroupId, PrincipalId
from tests.control.organization_harness import FOUNDER, nekt

PEOPLE = [
    "dee", "dee@acme.com", "O'Brien", "O\u2019Brien", "Dr. X (ops)", "Ann-Marie", "\u0412\u0435\u0440\u0430 \u0418\u0432\u0430\u043d\u043e\u0432\u0430", "\u0415\u0433\u043e\u0440", "\u0422\u0430\u0440\u0430\u0441", "\u0412\u0435\u0440\u0430",
    "\u4f50\u3005\u6728 \u4e00", "\u30b8\u30e7\u30f3\u30fb\u30b9\u30df\u30b9", "\u0928\u0930\u0947\u0928\u094d\u0926\u094d\u0930", "\u0e2a\u0e21\u0e0a\u0e32\u0e22", "\u039e\u03ad\u03bd\u03b9\u03b1", "\u0410\u043d\u043d\u0430 Smith", "Zo\u00eb", "\u05d2\u05f3\u05d5\u05e8\u05d2\u05f3",
]  # fmt: skip
UNUSABLE = {
    "a variation selector": "admin\ufe0f",
    "a grapheme joiner": "a\u034fdmin",
    "an inherent vowel of Khmer": "admin\u17b4",
    "a filler of Hangul": "admin\u1160",
    "a halfwidth filler": "admin\uffa0",
    "a blank of Braille": "admin\u2800",
    "a bidirectional control": "\u202eadmin",
    "a mark on a Latin letter": "admin\u0323\u0301",
    "a mark alone": "\u0301",
    "a vowel alone": "\u093f",
    "a division slash": "a\u2215b",
    "a fraction slash": "a\u2044b",
    "a set minus": "a\u2216b",
    "a diagonal of box drawing": "a\u2571b",
    "a minus": "a\u2212b",
    "a digit of another script": "team \u0663",
    "a Cyrillic letter among Latin ones": "\u0430dmin",
    "a long vowel mark": "a\u30fcb",
    "signs alone": "--",
    "nothing": "",
}  # fmt: skip
LOOKING_LATIN = ["\u0441\u043e\u0441\u043e", "\u0441\u043e\u0441\u043e team", "\u0440\u0430\u0443\u0440\u0430"]


@pytest.mark.parametrize("name", PEOPLE)
def test_a_user_may_have_a_usual_personal_name(name: str) -> None:
    world = nekt()

    world.do(AddPrincipal(PrincipalId("new"), name, "member"), by=FOUNDER)

    assert Directory(world.control, world.store).find(name) == "new"


@pytest.mark.parametrize("kind", UNUSABLE)
def test_a_name_that_readers_would_mistake_is_refused_to_every_principal_and_group(kind: str) -> None:
    world = nekt()
    for command in (
        AddPrincipal(PrincipalId("new"), UNUSABLE[kind], "member"),
        CreateServicePrincipal(PrincipalId("new"), UNUSABLE[kind], "member"),
        CreateGroup(GroupId("new"), UNUSABLE[kind]),
    ):
        world.refuse(command, InvalidError, "name", by=FOUNDER)


@pytest.mark.parametrize("name", LOOKING_LATIN)
def test_a_group_or_service_principal_name_of_letters_that_look_latin_is_refused(name: str) -> None:
    world = nekt()

    world.refuse(CreateGroup(GroupId("new"), name), InvalidError, "look like Latin letters", by=FOUNDER)
    world.refuse(CreateServicePrincipal(PrincipalId("new"), name), InvalidError, "look like Latin letters", by=FOUNDER)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("\u0441\u043e\u0441\u043e", "coco"),
        ("\u0412\u0415\u0420\u0410", "bepa"),
        ("\u0412\u0435\u0440\u0430", "\u0432\u0435\u0440\u0430"),
        ("O\u2019Brien", "o'brien"),
        ("admin\ufe0f", "Admin"),
        ("a\u034fdmin", "admin"),
    ],
)
def test_look_alike_names_share_a_confusable_key(one: str, other: str) -> None:
    assert confusable_key(one) & confusable_key(other)


def test_a_look_alike_name_is_not_free_and_finds_no_principal() -> None:
    world = nekt()
    world.do(AddPrincipal(PrincipalId("new"), "coco", "member"))
    names = Directory(world.control, world.store)

    assert not names.is_free("\u0441\u043e\u0441\u043e")
    assert names.find("\u0441\u043e\u0441\u043e") is None
    assert names.find("Coco") == "new"


def test_look_alike_names_from_before_the_rule_are_each_found() -> None:
    world = nekt()
    for id, name in (("one", "boss"), ("two", "boss\ufe0f")):
        world.do(AddPrincipal(PrincipalId(id), name, "member"))
    names = Directory(world.control, world.store)

    assert (names.find("boss"), names.find("boss\ufe0f")) == ("one", "two")
