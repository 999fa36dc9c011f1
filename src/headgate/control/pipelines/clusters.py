"""Clusters: the configured Spark cluster on which a pipeline's runs execute."""

from headgate.control.kernel.errors import NotFoundError
from headgate.control.pipelines.cluster_names import EMBEDDED
from headgate.facts.changes import Attributes, Edge
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot

CONFIGURED = "configured"
"""The attribute of a cluster resource that names its configured cluster; without it, the embedded one."""


def cluster_of(facts: Snapshot, pipeline: ResourceId, named: str | None = None) -> str:
    """Return the configured cluster of a pipeline's runs, which need not exist.

    If the access model has clusters, the pipeline's relation names it; for a table service, that of its table. Otherwise
    it is the one `named` in the definition. Raises `NotFoundError` if the cluster resource was deleted.
    """
    edges = _list_cluster_edges(facts, pipeline)
    if not edges:
        return named or EMBEDDED
    cluster = facts.resources.get(edges[0].target)
    if cluster is None:
        raise NotFoundError("the cluster of the pipeline was deleted; move the pipeline to another cluster")
    return find_configured_cluster(cluster.attributes)


def find_configured_cluster(attributes: Attributes) -> str:
    """Return the configured cluster of a cluster resource with these attributes."""
    return next(iter(attributes.get(CONFIGURED, ())), EMBEDDED)


def _list_cluster_edges(facts: Snapshot, pipeline: ResourceId) -> tuple[Edge, ...]:
    found = facts.resources[pipeline]
    own = found.edges("cluster")
    if own or found.type != "table_service":
        return own
    return facts.resources[found.parent].edges("services_cluster")
