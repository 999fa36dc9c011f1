"""The corpus's needs as canonical actions, and the resources on which they are granted."""

import pytest

from headgate.facts.changes import OrganizationCreated, ResourceCreated
from headgate.facts.fold import fold
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot
from tools.bypass_corpus.cases import Need
from tools.bypass_corpus.privileges import covers, meant


def resource(id: str, type: str, parent: str) -> ResourceCreated:
    return ResourceCreated(ResourceId(id), type, ResourceId(parent), id)


FACTS = fold(
    Snapshot(),
    [
        OrganizationCreated(ResourceId("org"), "atomic", "hash"),
        resource("project", "project", "org"),
        resource("lake", "lake", "project"),
        resource("raw", "database", "lake"),
        resource("flights", "table", "raw"),
    ],
    1,
)


@pytest.mark.parametrize(
    ("need", "held"),
    [
        (("read", "lake.raw.flights"), {("table.select", "flights")}),
        (
            ("write", "lake.raw.flights"),
            {("table.insert", "flights"), ("table.update", "flights"), ("table.delete_rows", "flights")},
        ),
        (("describe", "lake.raw.flights"), {("table.describe", "flights")}),
        (("alter", "lake.raw"), {("database.alter", "raw")}),
        (("describe", "lake"), {("lake.describe", "lake")}),
        (("create", "lake"), {("lake.create_database", "lake")}),
        (("create", "lake.raw"), {("database.create_table", "raw"), ("database.create_view", "raw")}),
        (("drop", "lake.raw.new"), {("table.drop", "raw")}),
        (("describe", "lake.system"), {("database.describe", "lake")}),
        (("read", "lake.new.new"), {("table.select", "lake")}),
        (("read", "lake.raw.flights.files"), {("table.select", "flights")}),
    ],
)
def test_a_need_is_granted_on_its_object_or_on_the_parent_of_a_missing_one(
    need: Need, held: set[tuple[str, str]]
) -> None:
    assert meant(FACTS, [need]) == held


def test_a_need_is_covered_by_the_same_action_on_a_parent() -> None:
    read = ("read", "lake.raw.flights")

    assert covers(FACTS, [("read", "lake.raw.new")], read)
    assert not covers(FACTS, [("describe", "lake.raw")], read)
    assert not covers(FACTS, [("read", "lake.raw.flights")], ("write", "lake.raw.flights"))
