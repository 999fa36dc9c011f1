"""Checks of cluster names: a cluster resource or a pipeline may name only a cluster that the operator has configured."""

from collections.abc import Mapping, Sequence

from headgate.control.kernel.errors import InvalidError
from headgate.control.pipelines.clusters import CONFIGURED
from headgate.facts.changes import Relations


def require_configured(clusters: Sequence[str], attributes: Mapping[str, Sequence[str]] | None) -> None:
    """Raise `InvalidError` if the attributes of a cluster resource name a cluster that the operator has not configured."""
    for name in (attributes or {}).get(CONFIGURED, ()):
        _require(clusters, name)


def require_cluster(clusters: Sequence[str], name: str | None, edges: Relations) -> None:
    """Raise `InvalidError` if a definition names a cluster that is not configured.

    If clusters are resources of the access model (`edges` has a `cluster`), it raises nothing: `require_configured` has checked
    the resource.
    """
    if name is not None and "cluster" not in edges:
        _require(clusters, name)


def _require(clusters: Sequence[str], name: str) -> None:
    if name not in clusters:
        known = ", ".join(f"`{each}`" for each in clusters)
        raise InvalidError(f"the operator has not configured a cluster `{name}`; the configured clusters are {known}")
