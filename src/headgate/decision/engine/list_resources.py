"""Search for resources: all on which an action is allowed, by their shared positions instead of one check for each."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from headgate.decision.engine.checks import MaskChecker
from headgate.decision.engine.compile import ActionRequirement, CompiledModel
from headgate.decision.engine.holdings import Holdings
from headgate.decision.engine.position import MaskRequirement, Position
from headgate.decision.engine.type_index import TypeIndex
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId

Ids = tuple[ResourceId, ...]


@dataclass(frozen=True, slots=True)
class ResourceSearch:
    """A search for resources: by the caller's holdings, in the index of resources by type."""

    answering: MaskChecker
    contents: TypeIndex
    held: Holdings
    now: float

    def find_resources(self, action: str) -> Iterable[ResourceId]:
        """Return every resource, once, on which the holdings allow the action."""
        found: list[ResourceId] = []
        type = action.partition(".")[0]
        own = self._own(type)
        for ground, rules, ids in self._positions(type):
            act = rules.acts.get(action)
            if act is not None:
                found.extend(self._select_allowed(action, act, ground, rules, ids, own))
        if action not in self.answering.compiled.bridged:
            return found
        return dict.fromkeys((*found, *self._find_bridged(action)))

    def _select_allowed(
        self,
        action: str,
        act: ActionRequirement,
        ground: Position,
        rules: CompiledModel,
        ids: Ids,
        own: Mapping[ResourceId, list[ResourceId]],
    ) -> Iterable[ResourceId]:
        held = self._select_meeting(ground.plan(rules, act.wanted), ids, own) if act.wanted else ids
        if act.ways is None:
            return held
        caller, resources = Caller(self.held.principal), self.answering.facts.resources
        asked = ((resources[id], Question(caller, action, id)) for id in held)
        return [it.id for it, question in asked if self.answering.allows(self.held, question, it, self.now)]

    def _select_meeting(
        self, plan: MaskRequirement, ids: Ids, own: Mapping[ResourceId, list[ResourceId]]
    ) -> Iterable[ResourceId]:
        """Return the resources on which the holdings satisfy a plan that is the same for all of them."""
        at, resources = self.held.at, self.answering.facts.resources
        if any(at.get(place, 0) & mask for place, mask in plan.above):
            return ids
        if plan.named or plan.least:
            return [id for id in ids if self.answering.meets(self.held, plan, resources[id])]
        near = ids if len(ids) == 1 else own.get(resources[ids[0]].parent, ())
        return [id for id in near if at.get(id, 0) & plan.own]

    def _own(self, type: str) -> Mapping[ResourceId, list[ResourceId]]:
        """Return the resources of the type on which the caller holds a bit, by their parents."""
        found: dict[ResourceId, list[ResourceId]] = {}
        for id in self.held.at:
            resource = self.answering.facts.resources[id]
            if resource.type == type and id not in self.answering.grounds.special:
                found.setdefault(resource.parent, []).append(id)
        return found

    def _positions(self, type: str) -> Iterator[tuple[Position, CompiledModel, Ids]]:
        """Yield the resources of the type, grouped by shared positions."""
        grounds, resources = self.answering.grounds, self.answering.facts.resources
        special = {resources[id].parent for id in grounds.special if id in resources and resources[id].type == type}
        for parent, ids in self.contents.of_type(type):
            apart = [id for id in ids if id in grounds.special] if parent in special else []
            alike = tuple(id for id in ids if id not in grounds.special) if apart else ids
            if alike and grounds.of(resources[alike[0]]).alone:
                apart, alike = list(ids), ()
            for some in (alike, *((id,) for id in apart)):
                ground = grounds.of(resources[some[0]]) if some else None
                if ground and ground.rules:
                    yield ground, ground.rules, some

    def _find_bridged(self, action: str) -> Iterator[ResourceId]:
        for rules in self.answering.compiled.rules.values():
            for bridge in rules.model.bridges:
                if action in bridge.actions:
                    for port in self._ports(rules, bridge.role):
                        yield from self._list_served(port, bridge.relation)

    def _ports(self, rules: CompiledModel, role: str) -> Iterator[ResourceId]:
        """Yield the resources of this model on which the role is held."""
        wanted = rules.get_role_set((role,))
        for type in rules.list_types_with_role(wanted):
            own = self._own(type)
            for ground, governing, ids in self._positions(type):
                if governing is rules:
                    yield from self._select_meeting(ground.plan(rules, wanted), ids, own)

    def _list_served(self, port: ResourceId, relation: str) -> Iterator[ResourceId]:
        resources = self.answering.facts.resources
        for edge in resources[port].edges(relation):
            if edge.target in resources and self.answering.grounds.of(resources[edge.target]).rules:
                yield edge.target
