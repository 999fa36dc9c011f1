"""Which of the clusters that operators have configured something runs on, or that there is none of that name."""

from collections.abc import Mapping, Sequence

from headgate.control.kernel.errors import InvalidError
from headgate.control.pipelines.clusters import CONFIGURED
from headgate.facts.changes import Relations


def require_configured(clusters: Sequence[str], attributes: Mapping[str, Sequence[str]] | None) -> None:
    """Raise `InvalidError` if a cluster with these attributes stood for none that there is."""
    for name in (attributes or {}).get(CONFIGURED, ()):
        _require(clusters, name)


def require_cluster(clusters: Sequence[str], name: str | None, edges: Relations) -> None:
    """Raise `InvalidError` if a definition names a cluster that there is not, where it is no resource of its access model."""
    if name is not None and "cluster" not in edges:
        _require(clusters, name)


def _require(clusters: Sequence[str], name: str) -> None:
    if name not in clusters:
        known = ", ".join(f"`{each}`" for each in clusters)
        raise InvalidError(f"there is no cluster `{name}` here; there are {known}")
