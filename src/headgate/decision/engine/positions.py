"""Index of positions: computes the position of each resource, once for all resources that share it."""

from collections.abc import Iterable, Iterator

from headgate.decision.conditions import ConditionInput, holds
from headgate.decision.context import EvaluationContext, Models, model_for
from headgate.decision.effective_assignments import expand_assignment
from headgate.decision.engine.cache import BoundedCache
from headgate.decision.engine.compile import ABOVE, ANCESTOR, CompiledModel, CompiledModels
from headgate.decision.engine.invalidation import Invalidation
from headgate.decision.engine.position import (
    CompiledRole,
    MembershipAnchor,
    MembershipCondition,
    Position,
    PositionKey,
    ResourceMarks,
)
from headgate.decision.tree import derived_inputs, inheritance_sources
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Assignment, Resource, Snapshot
from headgate.model.model import PropagationRule

_MOST = 1 << 17
"""The number of positions in the cache, and of resources in `near`; a position takes about two kilobytes."""

_NO_QUESTION = Question(Caller(PrincipalId("")), "", ResourceId(""))
"""For conditions that do not depend on the question."""

Conditions = dict[tuple[str, tuple[MembershipAnchor, ...]], MembershipCondition]
"""The shared object of each membership condition, by model and anchors."""


class PositionIndex:
    """The positions of all resources of a snapshot. They depend on its resources, settings, models and custom roles only."""

    def __init__(
        self,
        models: Models,
        compiled: CompiledModels,
        facts: Snapshot,
        kept: tuple[BoundedCache[PositionKey, Position], Conditions] | None = None,
    ) -> None:
        self.near: dict[ResourceId, Position] = {}
        self.special = frozenset((*facts.governs, *facts.settings))
        self._models = models
        self._compiled = compiled
        self._facts = facts
        self._kept, self._conditions = kept or (BoundedCache(_MOST), {})

    def advance(self, facts: Snapshot, touched: Invalidation) -> "PositionIndex":
        """Return the positions in the snapshot after these changes."""
        return PositionIndex(
            self._models, self._compiled, facts, (self._kept.without(touched.positions), self._conditions)
        )

    def of(self, resource: Resource) -> Position:
        """Return the position of the resource."""
        found = self.near.get(resource.id)
        if found is None:
            found = self._find_kept(resource) or self._kept.put(*self._build(resource))
            if len(self.near) >= _MOST:
                self.near.clear()
            self.near[resource.id] = found
        return found

    def get_compiled_role(self, given: Assignment, origin: Resource) -> CompiledRole:
        """Return the compiled role of an assignment on this resource, under a model in force."""
        ground = self.of(origin)
        key = (given.model, given.role)
        found = ground.meanings.get(key)
        if found is None:
            found = ground.meanings[key] = self._compile_role(ground, given, origin)
        return found

    def build_all_marks(self, origin: Resource) -> ResourceMarks:
        """Return the bits of a principal that holds every role of every model on this resource, and no other role."""
        ground = self.of(origin)
        every = ((rules, *self._marks(rules, ground, origin, rules.bit)) for rules in self._compiled.rules.values())
        return tuple(mark for _, here, raised in every for mark in ((origin.id, here), *raised))

    def _find_kept(self, resource: Resource) -> Position | None:
        shared = None if resource.id in self.special else self._kept.get((resource.parent, resource.type))
        return shared or self._kept.get(resource.id)

    def _build(self, resource: Resource) -> tuple[PositionKey, Position]:
        model = model_for(self._models, self._facts, resource.type, resource.id)
        rules = self._compiled.rules[model.name] if model else None
        alone = resource.id in self.special or resource.id == resource.parent
        alone = alone or (rules is not None and not rules.is_position_shared(resource.type))
        position = resource.id if alone else (resource.parent, resource.type)
        return position, self._ground(resource, rules, alone)

    def _ground(self, resource: Resource, rules: CompiledModel | None, alone: bool) -> Position:  # noqa: FBT001  computed by the only caller
        facts = self._facts
        nearest: dict[str, ResourceId] = {}
        for each in facts.ancestors(resource.id):
            nearest.setdefault(each.type, each.id)
        if rules is None:
            return Position(resource.type, alone, None, (), frozenset(), {}, nearest, ())
        acting = tuple(self._list_acting_rules(rules, resource))
        related = self._related(rules, acting, resource)
        own = frozenset(related.pop(resource.id, set[str]()))
        there = ((facts.resources.get(id), ways) for id, ways in related.items())
        places = {place.id: (place.type, frozenset(ways)) for place, ways in there if place}
        return Position(
            resource.type, alone, rules, acting, own, places, nearest, tuple(self._list_derived_inputs(rules, resource))
        )

    def _list_acting_rules(self, rules: CompiledModel, resource: Resource) -> Iterator[int]:
        case = ConditionInput(self._facts, _NO_QUESTION, rules.model, resource, 0.0)
        for index, rule in enumerate(rules.model.spread):
            if (rule.to is None or resource.type in rule.to) and holds(rule.when, case):
                yield index

    def _related(self, rules: CompiledModel, acting: tuple[int, ...], resource: Resource) -> dict[ResourceId, set[str]]:
        facts, model = self._facts, rules.model
        related: dict[ResourceId, set[str]] = {}
        ancestors = [each.id for each in facts.ancestors(resource.id)]
        for id in (*ancestors, *inheritance_sources(facts, model, resource.id)):
            related.setdefault(id, set()).add(ABOVE)
        for id in ancestors:
            related[id].add(ANCESTOR)
        for relation in {model.spread[index].along for index in acting} - {None}:
            starts = {edge.target for edge in resource.edges(relation or "")}
            for id in starts.union(*(inheritance_sources(facts, model, id) for id in starts)):
                related.setdefault(id, set()).add(relation or "")
        return related

    def _list_derived_inputs(self, rules: CompiledModel, resource: Resource) -> Iterator[tuple[ResourceId, Position]]:
        """Yield the resources that decide on a derived one; none if one was deleted, is derived, or has another model."""
        rule = rules.model.derived.get(resource.type)
        found = [(id, self._facts.resources.get(id)) for id in derived_inputs(resource, rule)] if rule else []
        grounds = [
            (id, self.of(there)) for id, there in found if there is not None and there.type not in rules.model.derived
        ]
        if len(grounds) == len(found) and all(ground.rules is rules for _, ground in grounds):
            yield from grounds

    def _compile_role(self, ground: Position, given: Assignment, origin: Resource) -> CompiledRole:
        rules = self._compiled.rules[given.model]
        asked = EvaluationContext(self._models, self._facts, _NO_QUESTION, 0.0)
        here, raised = self._marks(rules, ground, origin, expand_assignment(asked, rules.model, given, origin))
        standing = [
            rule for rule in rules.model.standing if given.role not in rule.exempt and rule.on in ground.nearest
        ]
        anchors = tuple(MembershipAnchor(each.kinds, each.roles, ground.nearest[each.on]) for each in standing)
        key = (given.model, anchors)
        return CompiledRole(here, raised, self._conditions.setdefault(key, MembershipCondition(*key)))

    def _marks(
        self, rules: CompiledModel, ground: Position, origin: Resource, roles: Iterable[str]
    ) -> tuple[int, ResourceMarks]:
        known = [role for role in roles if role in rules.bit]
        here = sum(rules.bit[role] for role in known)
        raised: list[tuple[ResourceId, int]] = []
        case = ConditionInput(self._facts, _NO_QUESTION, rules.model, origin, 0.0)
        for index, rule in rules.marking:
            bits = sum(rules.marks[index, role] for role in known if role in rule.roles)
            if bits and origin.type in rule.origin and holds(rule.when_from, case):
                if rule.up is None or origin.type == rule.up:
                    here |= bits
                if rule.up is not None:
                    raised.extend((place, bits) for place in self._list_tops(ground, rule, origin))
        return here, tuple(raised)

    def _list_tops(self, ground: Position, rule: PropagationRule, origin: Resource) -> tuple[ResourceId, ...]:
        """Return the ancestors to which a rule with `up` spreads an assignment: the nearest, or all."""
        if rule.every:
            return tuple(each.id for each in self._facts.ancestors(origin.id) if each.type == rule.up)
        up = rule.up or ""
        return (ground.nearest[up],) if origin.type != up and up in ground.nearest else ()
