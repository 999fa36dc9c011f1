"""Where a pipeline's runs execute: as its relation says, as its definition names, or embedded."""

import pytest

from headgate.control.kernel.errors import NotFoundError
from headgate.control.pipelines.clusters import cluster_of
from headgate.facts.changes import (
    AttributesSet,
    Edge,
    OrganizationCreated,
    RelationsSet,
    ResourceCreated,
    ResourceDeleted,
)
from headgate.facts.fold import fold
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot

ROOT, TABLE, SERVICE, STREAM, CLUSTER = map(ResourceId, ("o", "t", "s", "c", "big"))
ON_IT = (Edge(CLUSTER),)


@pytest.fixture
def facts() -> Snapshot:
    """A stream capture, a table with a service, and a cluster that stands for `nightly`."""
    made = (
        OrganizationCreated(ROOT, "onehouse", "hash"),
        ResourceCreated(CLUSTER, "cluster", ROOT, "big", attributes={"configured": ("nightly",)}),
        ResourceCreated(STREAM, "stream_capture", ROOT, "capture"),
        ResourceCreated(TABLE, "table", ROOT, "t"),
        ResourceCreated(SERVICE, "table_service", TABLE, "compaction"),
    )
    return fold(Snapshot(), made, 1)


def test_what_is_related_to_none_runs_where_its_definition_says(facts: Snapshot) -> None:
    assert (cluster_of(facts, STREAM), cluster_of(facts, STREAM, "nightly")) == ("embedded", "nightly")


def test_what_was_moved_runs_there_whatever_its_definition_says(facts: Snapshot) -> None:
    moved = fold(facts, (RelationsSet(STREAM, {"cluster": ON_IT}),), 2)

    assert cluster_of(moved, STREAM, "elsewhere") == "nightly"


def test_a_table_service_runs_where_its_table_says(facts: Snapshot) -> None:
    moved = fold(facts, (RelationsSet(TABLE, {"services_cluster": ON_IT}),), 2)

    assert (cluster_of(moved, SERVICE), cluster_of(moved, STREAM)) == ("nightly", "embedded")


def test_a_cluster_that_says_nothing_is_the_embedded_one(facts: Snapshot) -> None:
    moved = fold(facts, (RelationsSet(STREAM, {"cluster": ON_IT}), AttributesSet(CLUSTER, {})), 2)

    assert cluster_of(moved, STREAM) == "embedded"


def test_what_is_on_a_cluster_that_is_gone_waits(facts: Snapshot) -> None:
    gone = fold(facts, (RelationsSet(STREAM, {"cluster": ON_IT}), ResourceDeleted(CLUSTER)), 2)

    with pytest.raises(NotFoundError, match="move it to another"):
        cluster_of(gone, STREAM)
