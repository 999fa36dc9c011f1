"""Sandbox policy of a driver: read Java, Spark and its jars, write the folders of its organization, and connect to the API."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from headgate.sandbox import Policy, SandboxLevel
from headgate.sandbox.launch import DEVICES, LOADERS, SYSTEM, sandbox_command
from headgate.spark.driver.clusters import Cluster
from headgate.spark.driver.config import STACK_MIB, THREAD_POOLS, DriverSettings, java_command
from headgate.spark.driver.ports import DriverPorts
from headgate.spark.toolchain.jars import spark_jars

_OF_JAVA: Final = ("conf", "lib")
"""Folders of a Java installation that may have symbolic links to system files, as in Debian."""
_OPEN_FILES: Final = 8192
_OTHER_THREADS: Final = 1984
"""Threads outside of Spark's pools.

One for each statement (`gateway.operations.PER_DRIVER`) and call (`gateway.call_slots.CALLS`), two for each of 256 streams,
and about 350 of the JVM and Spark's block manager.
"""
_BESIDE_HEAP: Final = 2 << 30
"""Bytes of memory in addition to heap and stacks, for code and buffers."""
_KUBERNETES: Final = "/var/run/secrets/kubernetes.io"


def driver_command(settings: DriverSettings, ports: DriverPorts) -> tuple[str, ...]:
    """Return the command that starts a driver in its sandbox. It contains no secret."""
    return sandbox_command(java_command(settings), driver_policy(settings, ports), choose_level(settings))


def choose_level(settings: DriverSettings) -> SandboxLevel:
    """Return the level of a driver's sandbox. The ports of executors on other machines are unknown when the driver starts."""
    level = settings.sandbox.level
    return SandboxLevel.FILES_ONLY if settings.cluster.is_remote and level is SandboxLevel.FULL else level


def driver_policy(settings: DriverSettings, ports: DriverPorts) -> Policy:
    """Return the sandbox policy of a driver."""
    sandbox, cluster, tools = settings.sandbox, settings.cluster, settings.tools
    home = tools.java.resolve().parent.parent
    reads = (*tools.jars, tools.class_archive.parent, spark_jars().parent, *sandbox.reads, *_list_linked(home))
    return Policy(
        reads=(*SYSTEM, *map(str, reads), *_of_cluster(cluster)),
        executes=(str(home), *LOADERS),
        writes=(*DEVICES, str(settings.scratch), *map(str, sandbox.writes)),
        forbidden=sandbox.forbidden,
        connects=(*sandbox.connects, *ports.all),
        listens=ports.all,
        # The names of a master and of executors are resolved by DNS.
        datagrams=cluster.is_remote,
        ends_with_parent=True,
        open_files=_OPEN_FILES,
        memory_bytes=(2 * cluster.heap_mib << 20) + _stack_bytes() + _BESIDE_HEAP,
    )


def _stack_bytes() -> int:
    """Return the bytes of all thread stacks: the limit of private memory counts each stack in full."""
    return (sum(THREAD_POOLS.values()) + _OTHER_THREADS) * STACK_MIB << 20


def _list_linked(home: Path) -> Iterator[Path]:
    """Yield the targets of the symbolic links in a Java installation."""
    for folder, folders, names in (found for each in _OF_JAVA for found in os.walk(home / each)):
        for path in (Path(folder, name) for name in (*folders, *names)):
            if path.is_symlink():
                yield path.resolve()


def _of_cluster(cluster: Cluster) -> Iterator[str]:
    """Yield the files with the addresses of a cluster and the account in it."""
    if cluster.hadoop:
        yield str(cluster.hadoop)
    if cluster.master.startswith("k8s"):
        yield os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
        yield _KUBERNETES
