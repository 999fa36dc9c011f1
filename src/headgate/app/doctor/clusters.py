"""Checks the clusters: whether masters answer, secrets are private, and executors could reach the driver."""

import asyncio
from collections.abc import Iterator, Mapping

from headgate.app.doctor.finding import Finding, build_failure, warning
from headgate.app.settings.settings import Settings
from headgate.control.egress.loopback import is_loopback
from headgate.spark.driver.clusters import Cluster
from headgate.spark.driver.standalone_master import (
    REST_PORT,
    NoMasterError,
    accepts_unauthenticated_jobs,
    require_master,
)

_OTHERS = 0o077


def check_clusters(settings: Settings, _environ: Mapping[str, str], _now: float) -> Iterator[Finding]:
    """Check each remote cluster, if Spark is enabled."""
    named = settings.clusters.names if settings.spark else ()
    found = (settings.clusters.find(name) for name in named)
    for cluster in found:
        if cluster is not None and cluster.is_remote:
            yield _check_master(cluster)
            yield from _has_unauthenticated_rest(cluster)
            yield from _check_files(cluster)
            yield from _check_host(cluster)


def _check_master(cluster: Cluster) -> Finding:
    what = f"cluster `{cluster.name}`"
    try:
        asyncio.run(require_master(cluster))
    except NoMasterError as error:
        return warning(what, str(error), "start the master; runs on the cluster wait until it answers")
    return Finding(what, "ok", f"the cluster runs on `{cluster.master}`, with at most {cluster.at_once} runs at once")


def _has_unauthenticated_rest(cluster: Cluster) -> Iterator[Finding]:
    for host, _ in cluster.masters:
        if asyncio.run(accepts_unauthenticated_jobs(host)):
            yield warning(
                f"cluster `{cluster.name}`",
                f"its master at `{host}` accepts jobs on port {REST_PORT} without the secret; their code can read the secret",
                "set `spark.master.rest.enabled false` on the master, and choose a new secret",
            )


def _check_files(cluster: Cluster) -> Iterator[Finding]:
    what, files = f"cluster `{cluster.name}`", (cluster.secret_file, cluster.hadoop)
    for file in files:
        if file is not None and not file.exists():
            yield build_failure(
                what,
                f"the file `{file}` does not exist",
                "create it, or correct the path in the file of HEADGATE_CLUSTERS",
            )
    secret = cluster.secret_file
    if secret is not None and secret.exists() and secret.stat().st_mode & _OTHERS:
        yield warning(what, f"`{secret}` can be read by other users of this machine", f"chmod 600 {secret}")


def _check_host(cluster: Cluster) -> Iterator[Finding]:
    masters = [host for host, _ in cluster.masters]
    if is_loopback(cluster.host) and not (masters and all(map(is_loopback, masters))):
        yield warning(
            f"cluster `{cluster.name}`",
            f"its executors connect to the driver at `{cluster.host}`, a loopback address: from another machine it does not lead to this one",
            "set `host` of the cluster to a name or address of this machine that the executors can reach",
        )
