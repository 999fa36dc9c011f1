"""Name resolution of questions: a name of a resource with another type counts as missing."""

import pytest

from headgate.control.kernel.names import find_by_name, list_descendants, suppose
from headgate.decision.evaluator import Reference
from headgate.facts.ids import ResourceId
from tests.fakes.small_organization import (
    FILES,
    FLIGHTS,
    LAKE,
    MODELS,
    PLACE,
    PLANES,
    RAW,
    SALARIES,
    allows,
    assigned,
    snapshot,
)
from tests.fakes.small_organization import MEMBER as VIEWER


@pytest.mark.parametrize(
    ("names", "id"),
    [
        (("lake",), LAKE),
        (("lake", "raw"), RAW),
        (("lake", "raw", "flights"), FLIGHTS),
        (("place",), PLACE),
    ],
)
def test_an_existing_name_finds_its_resource(names: tuple[str, ...], id: str) -> None:
    found = find_by_name(snapshot(), names)

    assert found is not None
    assert found.id == id


@pytest.mark.parametrize(
    "names",
    [
        *((), ("missing",), ("missing", "raw"), ("load", "raw"), ("place", "raw", "t")),
        *(
            ("lake", "missing"),
            ("lake", "raw", "missing"),
            ("lake", "raw", "files"),
            ("lake", "raw", "flights", "files"),
        ),
    ],
)
def test_a_missing_name_or_a_name_of_the_wrong_kind_finds_nothing(names: tuple[str, ...]) -> None:
    assert find_by_name(snapshot(), names) is None


@pytest.mark.parametrize(
    ("names", "kind", "above"),
    [
        (("lake", "missing"), "database", LAKE),
        (("lake", "system"), "database", LAKE),
        (("lake", "missing", "t"), "table", LAKE),
        (("lake", "raw", "missing"), "table", RAW),
        (("lake", "raw", "files"), "table", RAW),
        (("lake", "raw", "flights"), "table", RAW),
        (("lake", "raw"), "database", LAKE),
    ],
)
def test_a_free_and_a_taken_name_yield_a_hypothetical_resource_alike(
    names: tuple[str, ...], kind: str, above: str
) -> None:
    would = suppose(Reference(MODELS, snapshot()), names)

    assert would is not None
    assert (would.resource.type, would.above) == (kind, above)
    assert would.resource.id not in snapshot().resources


def test_a_role_on_a_volume_gives_no_right_on_a_table_of_the_same_name() -> None:
    would = suppose(Reference(MODELS, snapshot(assigned(VIEWER, "viewer", FILES))), ("lake", "raw", "files"))

    assert would is not None
    assert not allows(would.answers.facts, VIEWER, "table.select", would.resource.id)


@pytest.mark.parametrize(
    "names",
    [
        (),
        ("missing",),
        ("place",),
        ("missing", "raw"),
        ("load", "raw"),
        ("place", "raw", "t"),
        ("lake", "raw", "t", "u"),
    ],
)
def test_a_name_that_no_lake_can_contain_yields_no_hypothetical_resource(names: tuple[str, ...]) -> None:
    assert suppose(Reference(MODELS, snapshot()), names) is None


@pytest.mark.parametrize(
    ("above", "type", "found"),
    [(RAW, "table", {FLIGHTS, PLANES}), (LAKE, "table", {FLIGHTS, PLANES, SALARIES}), (RAW, "volume", {FILES})],
)
def test_descendants_are_found_at_any_depth(above: ResourceId, type: str, found: set[ResourceId]) -> None:
    assert set(list_descendants(snapshot(), above, type)) == found
