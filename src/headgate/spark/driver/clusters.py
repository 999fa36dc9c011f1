"""Clusters as operators configure them: what a driver is started on, and how its executors find it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Cluster:
    """One Spark set-up. As it stands it is the embedded one: everything in the driver, on this machine's cores."""

    name: str
    master: str = "local[*]"
    """As Spark writes it: `local[*]`, `spark://host:7077`, `k8s://https://host`, `yarn`."""
    memory: str = "1g"
    """The driver's heap, as Java writes it."""
    at_once: int = 4
    """How many runs are under way on it."""
    host: str = LOOPBACK
    """Under which name executors find the driver."""
    bind: str = ""
    """The address that the driver listens on for its executors; without one, `host`."""
    secret_file: Path | None = None
    """Holds what a standalone master and its workers call `spark.authenticate.secret`."""
    hadoop: Path | None = None
    """The folder of Hadoop's configuration files, for YARN and HDFS."""
    idle_seconds: float = 900.0
    """How long its driver stays without a session or a statement."""
    conf: Mapping[str, str] = field(default_factory=dict[str, str])
    """Spark's own configuration of executors and networks."""

    @property
    def heap_mib(self) -> int:
        """The MiB of the driver's heap; Java writes `1g`, `512m`, `1048576k`, or bytes."""
        unit = self.memory[-1].lower()
        shift = {"k": 10, "m": 20, "g": 30, "t": 40}.get(unit, 0)
        return int(self.memory[:-1] if shift else self.memory) << shift >> 20

    @property
    def is_remote(self) -> bool:
        """Whether statements are executed in other processes than the driver."""
        return not self.master.startswith("local")

    @property
    def listening(self) -> str:
        """The address that the driver listens on for its executors."""
        return self.bind or self.host

    @property
    def masters(self) -> Iterator[tuple[str, int]]:
        """Host and port of each standalone master; nothing for another kind of master."""
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
        """Every name, sorted."""
        return tuple(sorted(self._clusters))

    def find(self, name: str) -> Cluster | None:
        """Return the cluster of this name, or None."""
        return self._clusters.get(name)

    def at_once(self, name: str) -> int:
        """Return how many runs may be under way on a cluster; none where there is no such cluster."""
        found = self.find(name)
        return found.at_once if found else 0
