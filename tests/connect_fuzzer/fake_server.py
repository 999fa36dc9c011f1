"""Fakes of the server, its other user and an attacker; the fake server has the metrics of a real one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import grpc

from headgate.endpoints.http.metrics import Figures, Metrics
from tests.connect_fuzzer.mutation import Mutant
from tests.connect_fuzzer.scene import Trouble
from tests.spark.gateway.hostile_client import Answer


@dataclass
class FakeServer:
    """A fake server; its fields determine its metrics."""

    spark: dict[str, float] = field(
        default_factory=lambda: {
            "driver_starts": 1.0,
            "driver_hangs": 0.0,
            "gateway_starts": 1.0,
            "task_deaths": 0.0,
            "operations": 0.0,
        }
    )
    """The counters of Spark."""
    task_deaths: dict[str, int] = field(default_factory=lambda: {"audit": 0})
    ready: bool = True
    processors: float = 0.0
    """Processor seconds that the driver uses between two checks."""
    _used: float = 0.0

    def metrics(self) -> str:
        """Return its metrics as text."""
        return Metrics(lambda: Figures(spark=self._labelled(), task_deaths=self.task_deaths)).text().decode()

    def is_ready(self) -> bool:
        """Return whether Spark is ready."""
        return self.ready

    def until_ready(self) -> None:
        """Make Spark ready."""
        self.ready = True

    def processor_seconds(self) -> float:
        """Return the processor seconds that its driver has used."""
        self._used += self.processors
        return self._used

    def _labelled(self) -> Mapping[str, Mapping[str, float]]:
        label = {"driver_starts": "organization", "driver_hangs": "organization", "task_deaths": "revocation watch"}
        return {name: {label.get(name, ""): count} for name, count in self.spark.items()}


@dataclass
class FakeWork:
    """Another user's work with the outcome that its fields set."""

    troubles: list[Trouble] = field(default_factory=list[Trouble])
    rounds: int = 1
    done_at_the_end: int = 1
    """The number of rounds that are done until the work is stopped."""

    def stop(self) -> None:
        """Stop the work."""
        self.rounds += self.done_at_the_end


class FakeAttacker:
    """An attacker whose mutants act in this process."""

    def __init__(self, act: Callable[[Mutant], Answer | None]) -> None:
        """Create the attacker; `act` gets each mutant, and returns an answer or None for an ordinary one."""
        self._act = act

    def send(self, mutant: Mutant) -> Answer:
        """Send a mutant."""
        return self._act(mutant) or Answer(grpc.StatusCode.OK)

    def renew(self) -> None:
        """Begin another session."""

    def close(self) -> None:
        """End the sessions."""
