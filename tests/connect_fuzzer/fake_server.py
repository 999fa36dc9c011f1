"""A server, its other user and an attacker that are made up: the server says what a real one says, in the same metrics."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import grpc

from headgate.endpoints.http.metrics import Figures, Metrics
from tests.connect_fuzzer.mutation import Mutant
from tests.connect_fuzzer.scene import Trouble
from tests.spark.gateway.hostile_client import Answer


@dataclass
class FakeServer:
    """What the server says is what stands in its fields."""

    spark: dict[str, float] = field(
        default_factory=lambda: {
            "driver_starts": 1.0,
            "driver_hangs": 0.0,
            "gateway_starts": 1.0,
            "task_deaths": 0.0,
            "operations": 0.0,
        }
    )
    """What Spark's side has counted."""
    task_deaths: dict[str, int] = field(default_factory=lambda: {"audit": 0})
    ready: bool = True
    processors: float = 0.0
    """What the driver uses between two looks, in seconds of a processor."""
    _used: float = 0.0

    def metrics(self) -> str:
        """Return its metrics as text."""
        return Metrics(lambda: Figures(spark=self._labelled(), task_deaths=self.task_deaths)).text().decode()

    def is_ready(self) -> bool:
        """Return whether Spark can be used now."""
        return self.ready

    def until_ready(self) -> None:
        """Have Spark ready."""
        self.ready = True

    def processor_seconds(self) -> float:
        """Return how much of processors its driver has used."""
        self._used += self.processors
        return self._used

    def _labelled(self) -> Mapping[str, Mapping[str, float]]:
        label = {"driver_starts": "organization", "driver_hangs": "organization", "task_deaths": "revocation watch"}
        return {name: {label.get(name, ""): count} for name, count in self.spark.items()}


@dataclass
class FakeWork:
    """Another user's work that goes as its fields say."""

    troubles: list[Trouble] = field(default_factory=list[Trouble])
    rounds: int = 1
    done_at_the_end: int = 1
    """Rounds that are done until it is stopped."""

    def stop(self) -> None:
        """End it."""
        self.rounds += self.done_at_the_end


class FakeAttacker:
    """Has what it sends act in this process."""

    def __init__(self, act: Callable[[Mutant], Answer | None]) -> None:
        """`act` is called with each mutant, and returns an answer that is not a plain one."""
        self._act = act

    def send(self, mutant: Mutant) -> Answer:
        """Send a mutant."""
        return self._act(mutant) or Answer(grpc.StatusCode.OK)

    def renew(self) -> None:
        """Begin another session."""

    def close(self) -> None:
        """End the sessions."""
