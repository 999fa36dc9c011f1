"""Positions of resources: the places from which roles reach a resource, and the masks that an action requires there."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from headgate.decision.engine.compile import SELF, CompiledModel, RoleSet
from headgate.facts.ids import ResourceId

PositionKey = ResourceId | tuple[ResourceId, str]
"""The key of a position: of one resource, or of all resources of a type below a parent."""

ResourceMarks = tuple[tuple[ResourceId, int], ...]
"""Bits at places."""


class MaskRequirement:
    """Requirement for holding one of the wanted roles on a resource; any one of the following suffices.

    A bit of `own` on the resource; a bit at a place in `above`; being named by a relation in `named`; or, for one entry
    of `least`, satisfying all its plans on their resources. A plan is `bare` if no relation matters in it.
    """

    __slots__ = ("above", "bare", "least", "named", "own")

    def __init__(
        self,
        own: int,
        above: ResourceMarks,
        named: tuple[str, ...],
        least: tuple[tuple[tuple[ResourceId, "MaskRequirement"], ...], ...],
    ) -> None:
        self.own = own
        self.above = above
        self.named = named
        self.least = least
        self.bare = not named and all(plan.bare for plans in least for _, plan in plans)


class MembershipAnchor(NamedTuple):
    """A place on which the subject of an assignment needs one of the roles, if it is of one of the kinds."""

    kinds: frozenset[str]
    roles: frozenset[str]
    place: ResourceId


class MembershipCondition:
    """The condition of assignments under a model: all these anchors. Equal ones are one object, compared by identity."""

    __slots__ = ("anchors", "model")

    def __init__(self, model: str, anchors: tuple[MembershipAnchor, ...]) -> None:
        self.model = model
        self.anchors = anchors


class CompiledRole(NamedTuple):
    """An assignment as bits: at its place, at the places to which rules with `up` spread it, and its condition."""

    here: int
    raised: ResourceMarks
    condition: MembershipCondition


@dataclass(slots=True, eq=False)
class Position:
    """The properties that resources in the same position share.

    `alone` is whether it is the position of one resource only. `rules` is the compiled model (None: no model has the
    type), `acting` are the indexes of its spread rules that act on them. `own` are the relations of a resource to
    itself, `places` the type and relations of other places. `nearest` is the nearest ancestor of each type, and
    `touched` are the resources that decide if access is derived.
    """

    type: str
    alone: bool
    rules: CompiledModel | None
    acting: tuple[int, ...]
    own: frozenset[str]
    places: Mapping[ResourceId, tuple[str, frozenset[str]]]
    nearest: Mapping[str, ResourceId]
    touched: tuple[tuple[ResourceId, "Position"], ...]
    meanings: dict[tuple[str, str], CompiledRole] = field(default_factory=dict[tuple[str, str], CompiledRole])
    bare: dict[str, MaskRequirement] = field(default_factory=dict[str, MaskRequirement])
    _plans: dict[RoleSet, MaskRequirement] = field(default_factory=dict[RoleSet, MaskRequirement])

    def plan(self, rules: CompiledModel, wanted: RoleSet) -> MaskRequirement:
        """Return the requirement for holding one of these roles, which belong to this position's model."""
        found = self._plans.get(wanted)
        if found is None:
            found = self._plans[wanted] = self._plan(rules, wanted)
        return found

    def bare_plan(self, action: str) -> MaskRequirement | None:
        """Return the requirement of an action if it consists of roles only and no relation matters for them; else None."""
        found = self.bare.get(action)
        act = self.rules.acts.get(action) if self.rules and not found else None
        if self.rules is None or act is None or act.wanted is None or act.ways is not None or act.type != self.type:
            return found
        plan = self.plan(self.rules, act.wanted)
        return self.bare.setdefault(action, plan) if plan.bare else None

    def _plan(self, rules: CompiledModel, wanted: RoleSet) -> MaskRequirement:
        marks = (
            (place, rules.mask(wanted, self.acting, related, type)) for place, (type, related) in self.places.items()
        )
        each = [rules.get_role_set((role,)) for role in wanted.least] if self.touched else []
        return MaskRequirement(
            rules.mask(wanted, self.acting, self.own | {SELF}, self.type),
            tuple((place, mask) for place, mask in marks if mask),
            rules.list_granting_relations(wanted, self.type),
            tuple(tuple((id, ground.plan(rules, one)) for id, ground in self.touched) for one in each),
        )
