"""Commands that change the state of a pipeline or another resource that runs on a cluster, and its cluster."""

from collections.abc import Mapping
from dataclasses import dataclass

from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.errors import InvalidError
from headgate.control.kernel.operations import OperationPlace
from headgate.control.kernel.run_queue import QUEUED, RUNNING, RunRow
from headgate.control.pipelines.runs import QueueRun, requeue
from headgate.control.resources.attributes import STATE
from headgate.control.resources.changes import MOVED_BY
from headgate.facts.changes import Attributes, AttributesSet, Edge, RelationsSet
from headgate.facts.ids import ResourceId, RunId
from headgate.facts.snapshot import Resource

STATES: Mapping[str, str] = {
    "activate": "active",
    "deactivate": "inactive",
    "pause": "paused",
    "resume": "active",
    "clean_and_restart": "active",
}
"""The state after each of these actions."""

CLEANED = "cleaned"
"""The attribute that counts how often a pipeline was cleaned and restarted."""
_CLEANING = "clean_and_restart"
_STOPPING = ("pause", _CLEANING)
_BEGINNING = ("resume", _CLEANING)
_LASTING = "stream_capture"
"""The type with a continuous run: while a resource of it is active, one run is under way."""


@dataclass(frozen=True, slots=True)
class ChangeState:
    """Activate, deactivate, pause, resume, or clean and restart a resource.

    `rows` are its runs that have not ended: a pause and a restart stop the running ones and queue them again. If a stream
    capture is to continue and has no such run, `run` is queued.
    """

    resource: ResourceId
    verb: str
    rows: tuple[RunRow, ...] = ()
    run: RunId | None = None
    name: str = "resource.change_state"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require the action of that name on the resource."""
        found = view.target(self.resource)
        if self.verb not in STATES:
            raise InvalidError(f"`{self.verb}` is not a change of state; choose from {', '.join(STATES)}")
        view.require_operation(self.name, {"resource": found}, verb=self.verb)
        change = AttributesSet(found.id, self._attributes(found))
        plans = [CommandEffect((change,)), *self._stopped(view), *self._queue_next(view.with_changes(change), found)]
        return CommandEffect(
            tuple(change for each in plans for change in each.changes),
            tuple(document for each in plans for document in each.documents),
            runs=tuple(put for each in plans for put in each.runs),
        )

    def _attributes(self, found: Resource) -> Attributes:
        states = {**found.attributes, STATE: (STATES[self.verb],)}
        return {**states, CLEANED: (str(count_cleanings(found) + 1),)} if self.verb == _CLEANING else states

    def _stopped(self, view: CommandContext) -> list[CommandEffect]:
        under_way = [each for each in self.rows if each.state == RUNNING and self.verb in _STOPPING]
        return [requeue(view, each, f"stopped by `{self.verb}`") for each in under_way]

    def _queue_next(self, view: CommandContext, found: Resource) -> list[CommandEffect]:
        goes_on = found.type == _LASTING and self.verb in _BEGINNING
        if not goes_on or self.run is None or any(each.state in (QUEUED, RUNNING) for each in self.rows):
            return []
        return [QueueRun(self.run, found.id).decide(view)]


def count_cleanings(found: Resource) -> int:
    """Return how often a pipeline was cleaned and restarted."""
    return int(next(iter(found.attributes.get(CLEANED, ())), "0"))


@dataclass(frozen=True, slots=True)
class MoveToCluster:
    """Move a resource, or the services of a table, to a cluster."""

    resource: ResourceId
    cluster: ResourceId
    name: str = "resource.move_to_cluster"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require the action that moves it, which is decided with the cluster as a parameter."""
        found = view.target(self.resource)
        relation = next((relation for type, relation in MOVED_BY if type == found.type), "cluster")
        verb = MOVED_BY.get((found.type, relation), "move_to_cluster")
        place = OperationPlace(found, on={"cluster": (self.cluster,)})
        view.require_operation(self.name, {"resource": place}, verb=verb)
        cluster = view.resource(self.cluster, "cluster")
        return CommandEffect((RelationsSet(found.id, {**found.relations, relation: (Edge(cluster.id),)}),))
