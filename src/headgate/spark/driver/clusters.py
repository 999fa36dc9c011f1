"""Clusters as operators configure them: the Spark master of a driver, and how its executors connect to it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Cluster:
    """One Spark cluster. The defaults describe the embedded one: everything runs in the driver, on this machine's cores."""

    name: str
    master: str = "local[*]"
    """The master, in Spark's syntax: `local[*]`, `spark://host:7077`, `k8s://https://host`, `yarn`."""
    memory: str = "1g"
    """The size of the driver's heap, in Java's syntax."""
    at_once: int = 4
    """The limit of concurrent runs."""
    host: str = LOOPBACK
    """The host name or address at which executors connect to the driver."""
    bind: str = ""
    """The address on which the driver listens for its executors; if empty, `host`."""
    secret_file: Path | None = None
    """The file with the `spark.authenticate.secret` of a standalone master and its workers."""
    hadoop: Path | None = None
    """The folder of Hadoop's configuration files, for YARN and HDFS."""
    idle_seconds: float = 900.0
    """Seconds after which a driver without sessions and statements is stopped."""
    conf: Mapping[str, str] = field(default_factory=dict[str, str])
    """Spark configuration of executors and networks."""

    @property
    def heap_mib(self) -> int:
        """The driver's heap in MiB; Java's syntax is `1g`, `512m`, `1048576k`, or bytes."""
        unit = self.memory[-1].lower()
        shift = {"k": 10, "m": 20, "g": 30, "t": 40}.get(unit, 0)
        return int(self.memory[:-1] if shift else self.memory) << shift >> 20

    @property
    def is_remote(self) -> bool:
        """Whether statements run in other processes than the driver."""
        return not self.master.startswith("local")

    @property
    def listening(self) -> str:
        """The address on which the driver listens for its executors."""
        return self.bind or self.host

    @property
    def masters(self) -> Iterator[tuple[str, int]]:
        """Host and port of each standalone master; empty for other kinds of masters."""
        if self.master.startswith("spark://"):
            for each in self.master.removeprefix("spark://").split(","):
                host, _, port = each.rpartition(":")
                yield host, int(port)


class Clusters:
    """The clusters of a deployment by their names."""

    def __init__(self, *clusters: Cluster) -> None:
        self._clusters = {each.name: each for each in clusters}

    @property
    def names(self) -> tuple[str, ...]:
        """All names, sorted."""
        return tuple(sorted(self._clusters))

    def find(self, name: str) -> Cluster | None:
        """Return the cluster of this name, or None."""
        return self._clusters.get(name)

    def at_once(self, name: str) -> int:
        """Return the limit of concurrent runs on a cluster; 0 if the cluster does not exist."""
        found = self.find(name)
        return found.at_once if found else 0
