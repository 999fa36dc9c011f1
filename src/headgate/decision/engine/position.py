"""Where a resource stands: from which places roles come to it, and what somebody must hold there for an action."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from headgate.decision.engine.compile import SELF, CompiledModel, RoleSet
from headgate.facts.ids import ResourceId

PositionKey = ResourceId | tuple[ResourceId, str]
"""That of one resource, or of all of a type below a parent."""

ResourceMarks = tuple[tuple[ResourceId, int], ...]
"""Bits at places."""


class MaskRequirement:
    """What it takes to hold one of the wanted roles on a resource; any of this is enough.

    A bit of `own` on the resource; a bit at a place in `above`; to be named by a relation in `named`; or, for one of
    `least`, to meet all plans there, on the resources that they are for. No plan is `bare` in which a relation counts.
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
    """A place on which an assignment's subject, if it is of one of the kinds, needs one of the roles."""

    kinds: frozenset[str]
    roles: frozenset[str]
    place: ResourceId


class MembershipCondition:
    """What assignments under a model rest on: all of these anchors. There is one object for each, so it is told by that."""

    __slots__ = ("anchors", "model")

    def __init__(self, model: str, anchors: tuple[MembershipAnchor, ...]) -> None:
        self.model = model
        self.anchors = anchors


class CompiledRole(NamedTuple):
    """What an assignment stands for: bits where it is made, bits where rules take it, and what it rests on."""

    here: int
    raised: ResourceMarks
    condition: MembershipCondition


@dataclass(slots=True, eq=False)
class Position:
    """What resources in the same position have in common.

    It is `alone` if there is only one. `rules` is their model (None: none knows the type) and `acting` says which of its spread rules act on them. `own` is how
    a resource is related to itself, `places` how others are to it, each with its type; `nearest` is the nearest place
    of each type that they lie in, and `touched` what decides where access is derived.
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
        """Return what it takes to hold one of these roles, which are of this ground's model."""
        found = self._plans.get(wanted)
        if found is None:
            found = self._plans[wanted] = self._plan(rules, wanted)
        return found

    def bare_plan(self, action: str) -> MaskRequirement | None:
        """Return what an action takes, if that is nothing but roles and no relation counts for them."""
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
