"""Clusters: which of the Sparks that operators have configured a pipeline's runs execute on."""

from headgate.control.kernel.errors import NotFoundError
from headgate.facts.changes import Attributes, Edge
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot

EMBEDDED = "embedded"
"""The cluster that is always there: the Spark beside the server."""

CONFIGURED = "configured"
"""The attribute of a cluster resource that names the configured cluster it stands for; without it, the embedded one."""


def cluster_of(facts: Snapshot, pipeline: ResourceId, named: str | None = None) -> str:
    """Return the configured cluster of a pipeline's runs, which need not exist.

    Where the access model knows clusters, the pipeline's relation says which, and that of its table for a table service;
    elsewhere what its definition has `named`. Raises `NotFoundError` if the cluster it is to run on was deleted.
    """
    edges = _list_cluster_edges(facts, pipeline)
    if not edges:
        return named or EMBEDDED
    cluster = facts.resources.get(edges[0].target)
    if cluster is None:
        raise NotFoundError("the cluster that it is to run on is gone; move it to another")
    return find_configured_cluster(cluster.attributes)


def find_configured_cluster(attributes: Attributes) -> str:
    """Return the configured cluster that a cluster resource with these attributes stands for."""
    return next(iter(attributes.get(CONFIGURED, ())), EMBEDDED)


def _list_cluster_edges(facts: Snapshot, pipeline: ResourceId) -> tuple[Edge, ...]:
    found = facts.resources[pipeline]
    own = found.edges("cluster")
    if own or found.type != "table_service":
        return own
    return facts.resources[found.parent].edges("services_cluster")
