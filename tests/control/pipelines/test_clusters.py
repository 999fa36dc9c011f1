"""The cluster of a pipeline's runs: from its relation, from its definition, or the embedded one."""

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
    """A stream capture, a table with a service, and a cluster resource for the configured cluster `nightly`."""
    made = (
        OrganizationCreated(ROOT, "onehouse", "hash"),
        ResourceCreated(CLUSTER, "cluster", ROOT, "big", attributes={"configured": ("nightly",)}),
        ResourceCreated(STREAM, "stream_capture", ROOT, "capture"),
        ResourceCreated(TABLE, "table", ROOT, "t"),
        ResourceCreated(SERVICE, "table_service", TABLE, "compaction"),
    )
    return fold(Snapshot(), made, 1)


def test_a_pipeline_without_a_cluster_relation_runs_on_the_cluster_of_its_definition(facts: Snapshot) -> None:
    assert (cluster_of(facts, STREAM), cluster_of(facts, STREAM, "nightly")) == ("embedded", "nightly")


def test_a_cluster_relation_overrides_the_cluster_of_the_definition(facts: Snapshot) -> None:
    moved = fold(facts, (RelationsSet(STREAM, {"cluster": ON_IT}),), 2)

    assert cluster_of(moved, STREAM, "elsewhere") == "nightly"


def test_a_table_service_runs_on_the_services_cluster_of_its_table(facts: Snapshot) -> None:
    moved = fold(facts, (RelationsSet(TABLE, {"services_cluster": ON_IT}),), 2)

    assert (cluster_of(moved, SERVICE), cluster_of(moved, STREAM)) == ("nightly", "embedded")


def test_a_cluster_without_a_configured_name_is_the_embedded_one(facts: Snapshot) -> None:
    moved = fold(facts, (RelationsSet(STREAM, {"cluster": ON_IT}), AttributesSet(CLUSTER, {})), 2)

    assert cluster_of(moved, STREAM) == "embedded"


def test_a_pipeline_of_a_deleted_cluster_has_no_cluster_to_run_on(facts: Snapshot) -> None:
    gone = fold(facts, (RelationsSet(STREAM, {"cluster": ON_IT}), ResourceDeleted(CLUSTER)), 2)

    with pytest.raises(NotFoundError, match="move the pipeline to another"):
        cluster_of(gone, STREAM)
