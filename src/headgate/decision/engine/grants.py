"""Grants: the assignments of each subject itself as masks at places, from which holdings are computed."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from headgate.decision.engine.cache import BoundedCache
from headgate.decision.engine.compile import CompiledModels
from headgate.decision.engine.invalidation import Invalidation
from headgate.decision.engine.position import MembershipCondition
from headgate.decision.engine.positions import PositionIndex
from headgate.decision.engine.validity import ValidityWindow
from headgate.facts.ids import ResourceId, SubjectId
from headgate.facts.snapshot import NOTHING_HELD, Snapshot

_MOST = 1 << 15
"""The number of subjects in the cache; a hundred assignments take about ten kilobytes."""

Masks = dict[ResourceId, int]
"""Bits by place."""

TeamKey = tuple[str, ResourceId]
"""A model, and a team that is one under it."""


class Grants(NamedTuple):
    """The assignments of one subject itself, within a span of time.

    `masks` are the bits by membership condition. `roles` are the assigned (model, place, role), whether they count or
    not. `teams` are (model, team) of which the subject is a member and so gets the assignments under the model; `outer` are
    those of which it is a member even if it is a team.
    """

    masks: Mapping[MembershipCondition, Masks]
    roles: frozenset[tuple[str, ResourceId, str]]
    teams: frozenset[TeamKey]
    outer: frozenset[TeamKey]
    span: ValidityWindow

    def select_by_model(self, model: str) -> "Grants":
        """Return the grants under one model."""
        if all(condition.model == model for condition in self.masks):
            return self
        masks = {condition: marks for condition, marks in self.masks.items() if condition.model == model}
        roles = frozenset(each for each in self.roles if each[0] == model)
        outer = frozenset(each for each in self.outer if each[0] == model)
        return Grants(masks, roles, self.teams, outer, self.span)


class GrantIndex:
    """The grants of all subjects of a snapshot."""

    def __init__(
        self,
        compiled: CompiledModels,
        facts: Snapshot,
        grounds: PositionIndex,
        kept: BoundedCache[SubjectId, Grants] | None = None,
    ) -> None:
        self._compiled = compiled
        self._facts = facts
        self._grounds = grounds
        self._kept = kept or BoundedCache[SubjectId, Grants](_MOST)

    @property
    def models(self) -> Collection[str]:
        """The names of the models in force."""
        return self._compiled.rules.keys()

    @property
    def has_conditions(self) -> bool:
        """Whether grants may depend on membership conditions, under one of the models."""
        return any(rules.model.standing for rules in self._compiled.rules.values())

    def advance(self, facts: Snapshot, grounds: PositionIndex, touched: Invalidation) -> "GrantIndex":
        """Return the grants in the snapshot after these changes."""
        return GrantIndex(self._compiled, facts, grounds, self._kept.without(touched.subjects))

    def of(self, subject: SubjectId, span: ValidityWindow) -> Grants:
        """Return the grants of the subject, and narrow the span to the time when they are valid."""
        found = self._kept.get(subject)
        if found is None or not found.span.includes(span.now):
            found = self._kept.put(subject, self._read(subject, ValidityWindow(span.now)))
        span.narrow(found.span)
        return found

    def _read(self, subject: SubjectId, span: ValidityWindow) -> Grants:
        facts, compiled, masks = self._facts, self._compiled, dict[MembershipCondition, Masks]()
        roles, teams, outer = set[tuple[str, ResourceId, str]](), set[TeamKey](), set[TeamKey]()
        for given in facts.assignments.get(subject, NOTHING_HELD).values():
            rules, place = compiled.rules.get(given.model), given.resource
            origin = facts.resources.get(place)
            if rules and origin and span.covers(given):
                here, raised, condition = self._grounds.get_compiled_role(given, origin)
                add(masks.setdefault(condition, {}), ((place, here), *raised))
                roles.add((given.model, place, given.role))
                joining = rules.joining.get(origin.type, 0)
                if joining is None:
                    teams.add((given.model, place))
                elif here & joining:
                    outer.add((given.model, place))
        return Grants(masks, frozenset(roles), frozenset(teams | outer), frozenset(outer), span)


def add(at: Masks, marks: Iterable[tuple[ResourceId, int]]) -> None:
    """Add bits at places to masks, in place."""
    for place, bits in marks:
        at[place] = at.get(place, 0) | bits


def join_masks(at: Masks, more: Masks) -> Masks:
    """Return new masks with the bits of both."""
    less, most = (at, more) if len(at) < len(more) else (more, at)
    both = dict(most)
    add(both, less.items())
    return both
