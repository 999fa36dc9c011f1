"""What the sandbox lets a driver do: read Java, Spark and its jars, write the folders of its organization, and reach the API."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headgate.sandbox import Level, Policy
from headgate.sandbox.machine import DEVICES, LOADERS, SYSTEM
from headgate.spark.clusters import Cluster
from headgate.spark.driver_ports import DriverPorts
from headgate.spark.jars import spark_jars

_OF_JAVA: Final = ("conf", "lib")
"""Where a Java's own folder may have links to files of the system, as Debian's has."""
_OPEN_FILES: Final = 8192
_BESIDE_HEAP: Final = 16 << 30
"""Bytes for code, stacks of threads, which count as a whole, and buffers."""
_KUBERNETES: Final = "/var/run/secrets/kubernetes.io"


@dataclass(frozen=True, slots=True)
class DriverSandbox:
    """How much of the sandbox is enforced, and the folders and ports of one driver beside its own."""

    level: Level = Level.NONE
    writes: tuple[Path, ...] = ()
    """The folders of its organization: tables, checkpoints, files of runs."""
    reads: tuple[Path, ...] = ()
    forbidden: tuple[str, ...] = ()
    """What it must not be able to open, or it does not start."""
    connects: tuple[int, ...] = ()
    """The ports of the API."""


@dataclass(frozen=True, slots=True)
class DriverFiles:
    """What a driver is started from, and its folder for scratch files."""

    java: Path
    jars: tuple[Path, ...]
    scratch: Path


def level_of(sandbox: DriverSandbox, cluster: Cluster) -> Level:
    """Return the level of a driver on a cluster: executors elsewhere have ports that nobody knows before."""
    return Level.FILES_ONLY if cluster.remote and sandbox.level is Level.FULL else sandbox.level


def driver_policy(sandbox: DriverSandbox, files: DriverFiles, cluster: Cluster, ports: DriverPorts) -> Policy:
    """Return what a driver may do."""
    home = files.java.resolve().parent.parent
    reads = (*files.jars, spark_jars().parent, *sandbox.reads, *_linked(home))
    return Policy(
        reads=(*SYSTEM, *map(str, reads), *_of_cluster(cluster)),
        executes=(str(home), *LOADERS),
        writes=(*DEVICES, str(files.scratch), *map(str, sandbox.writes)),
        forbidden=sandbox.forbidden,
        connects=(*sandbox.connects, *ports.all),
        listens=ports.all,
        # A master and executors are found by their names.
        datagrams=cluster.remote,
        open_files=_OPEN_FILES,
        memory_bytes=(2 * cluster.heap_mib << 20) + _BESIDE_HEAP,
    )


def _linked(home: Path) -> Iterator[Path]:
    """Yield the files of the system that a Java's own folder has links to."""
    for folder, folders, names in (found for each in _OF_JAVA for found in os.walk(home / each)):
        for path in (Path(folder, name) for name in (*folders, *names)):
            if path.is_symlink():
                yield path.resolve()


def _of_cluster(cluster: Cluster) -> Iterator[str]:
    """Yield the files by which Spark finds a cluster and its account there."""
    if cluster.hadoop:
        yield str(cluster.hadoop)
    if cluster.master.startswith("k8s"):
        yield os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
        yield _KUBERNETES
