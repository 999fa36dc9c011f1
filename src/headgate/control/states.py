"""States of pipelines and of what runs on a cluster, and the cluster that it runs on."""

from collections.abc import Mapping
from dataclasses import dataclass

from headgate.control.changing import MOVED_BY
from headgate.control.command import InvalidError, Plan, View
from headgate.control.resources import STATE
from headgate.facts.changes import AttributesSet, Edge, RelationsSet
from headgate.facts.ids import ResourceId

STATES: Mapping[str, str] = {
    "activate": "active",
    "deactivate": "inactive",
    "pause": "paused",
    "resume": "active",
    "clean_and_restart": "active",
}
"""The state after each of these actions."""


@dataclass(frozen=True, slots=True)
class ChangeState:
    """The resource is activated, deactivated, paused, resumed, or cleaned and restarted."""

    resource: ResourceId
    verb: str
    name: str = "resource.change_state"

    def plan(self, view: View) -> Plan:
        """Need the action of that name on it."""
        found = view.target(self.resource)
        if self.verb not in STATES:
            raise InvalidError(f"there is no `{self.verb}`; there are {', '.join(STATES)}")
        view.require_action(f"{found.type}.{self.verb}", found.id)
        return Plan((AttributesSet(found.id, {**found.attributes, STATE: (STATES[self.verb],)}),))


@dataclass(frozen=True, slots=True)
class MoveToCluster:
    """The resource, or the services of the table, run on this cluster from now on."""

    resource: ResourceId
    cluster: ResourceId
    name: str = "resource.move_to_cluster"

    def plan(self, view: View) -> Plan:
        """Need the action that moves it, which asks about the cluster too."""
        found = view.target(self.resource)
        relation = next((relation for type, relation in MOVED_BY if type == found.type), "cluster")
        verb = MOVED_BY.get((found.type, relation), "move_to_cluster")
        view.require_action(f"{found.type}.{verb}", found.id, on={"cluster": (self.cluster,)})
        cluster = view.resource(self.cluster, "cluster")
        return Plan((RelationsSet(found.id, {**found.relations, relation: (Edge(cluster.id),)}),))
