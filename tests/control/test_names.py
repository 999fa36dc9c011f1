"""From a name to what is asked about: a name of the wrong kind is a missing one."""

import pytest

from headgate.control.names import located
from headgate.decision.answers import Reference
from tests.fakes.world import FILES, FLIGHTS, LAKE, MODELS, PLACE, RAW, allows, assigned, snapshot
from tests.fakes.world import MEMBER as VIEWER


@pytest.mark.parametrize(
    ("names", "id"),
    [
        (("lake",), LAKE),
        (("lake", "raw"), RAW),
        (("lake", "raw", "flights"), FLIGHTS),
        (("place",), PLACE),
    ],
)
def test_a_name_that_exists_is_its_resource(names: tuple[str, ...], id: str) -> None:
    answers = Reference(MODELS, snapshot())

    assert located(answers, names) == (answers, id)


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (("lake", "missing"), "database"),
        (("lake", "missing", "t"), "table"),
        (("lake", "raw", "missing"), "table"),
        (("lake", "raw", "files"), "table"),
    ],
)
def test_a_missing_name_is_asked_about_as_what_would_lie_there(names: tuple[str, ...], kind: str) -> None:
    place = located(Reference(MODELS, snapshot()), names)

    assert place is not None
    assert place[0].facts.resources[place[1]].type == kind


def test_a_volume_is_no_table_of_its_name() -> None:
    answers = Reference(MODELS, snapshot(assigned(VIEWER, "viewer", FILES)))
    place = located(answers, ("lake", "raw", "files"))

    assert place is not None
    assert place[1] != FILES
    assert not allows(place[0].facts, VIEWER, "table.select", place[1])


@pytest.mark.parametrize(
    "names",
    [(), ("missing",), ("missing", "raw"), ("load", "raw"), ("place", "raw", "t"), ("lake", "raw", "t", "files")],
)
def test_below_what_is_no_lake_there_is_nothing_to_ask(names: tuple[str, ...]) -> None:
    assert located(Reference(MODELS, snapshot()), names) is None
