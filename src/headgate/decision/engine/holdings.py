"""Holdings: the bits of all assignments that count for a principal, including those of its groups and teams."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from operator import is_

from headgate.decision.caller_validity import caller_invalid
from headgate.decision.engine.cache import BoundedCache
from headgate.decision.engine.grants import GrantIndex, Grants, Masks, add, join_masks
from headgate.decision.engine.invalidation import Invalidation
from headgate.decision.engine.position import MembershipAnchor, MembershipCondition
from headgate.decision.engine.positions import PositionIndex
from headgate.decision.engine.validity import ValidityWindow
from headgate.decision.tree import subject_kind
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Snapshot

_MOST = 1 << 14
"""The number of principals in each cache; a hundred assignments take about ten kilobytes, and again for the groups'."""

Shared = tuple[tuple[Grants, ...], Mapping[MembershipCondition, Masks]]
"""The grants of some groups, and their joint masks."""


@dataclass(frozen=True, slots=True)
class Holdings:
    """The holdings of a principal while since <= now < until; `exists` is whether it is a valid caller then."""

    principal: PrincipalId
    exists: bool
    at: Masks
    since: float = -inf
    until: float = inf


class HoldingsIndex:
    """The holdings of all principals of a snapshot. `near` has those in use, for fast access."""

    def __init__(
        self,
        facts: Snapshot,
        grounds: PositionIndex,
        granting: GrantIndex,
        kept: BoundedCache[PrincipalId, Holdings] | None = None,
        shared: BoundedCache[PrincipalId, Shared] | None = None,
    ) -> None:
        self._facts = facts
        self._grounds = grounds
        self._granting = granting
        self._kept = kept or BoundedCache[PrincipalId, Holdings](_MOST)
        self._shared = shared or BoundedCache[PrincipalId, Shared](_MOST)
        self.near = self._kept.near

    def advance(self, facts: Snapshot, grounds: PositionIndex, touched: Invalidation) -> "HoldingsIndex":
        """Return the holdings in the snapshot after these changes."""
        kept = None if touched.everybody else self._kept.without(touched.people)
        return HoldingsIndex(
            facts, grounds, self._granting.advance(facts, grounds, touched), kept, self._shared.without(())
        )

    def of(self, principal: PrincipalId, now: float) -> Holdings:
        """Return the holdings of the principal at a time."""
        found = self._kept.get(principal)
        if found is None or not found.since <= now < found.until:
            found = self._kept.put(principal, self._holdings(principal, now))
        return found

    def with_everything(self, principal: PrincipalId, places: Iterable[ResourceId]) -> Holdings:
        """Return the holdings of a principal with every role of every model on these places, and no other role."""
        at: Masks = {}
        for id in places:
            if id in self._facts.resources:
                add(at, self._grounds.build_all_marks(self._facts.resources[id]))
        return Holdings(principal, exists=True, at=at)

    def _holdings(self, principal: PrincipalId, now: float) -> Holdings:
        span, record = ValidityWindow(now), self._facts.principals.get(principal)
        if record:
            span.exists(record)
        exists = caller_invalid(self._facts, Caller(principal), now) is None
        return Holdings(principal, exists, self._at(principal, span) if exists else {}, span.since, span.until)

    def _at(self, principal: PrincipalId, span: ValidityWindow) -> Masks:
        own = self._granting.of(principal, span)
        groups = tuple(self._granting.of(each, span) for each in self._facts.groups_of(principal))
        served = self._list_served(principal, own.teams.union(*(each.teams for each in groups)), span)
        kind, parts = subject_kind(self._facts, principal), (own, *groups, *served)
        counting: dict[MembershipCondition, bool] = {}
        at: Masks = {}
        for index, masks in enumerate((self._together(principal, groups), own.masks, *(each.masks for each in served))):
            for condition, marks in masks.items():
                if condition not in counting:
                    counting[condition] = all(_stands(condition, each, kind, parts) for each in condition.anchors)
                if counting[condition] and index > 1:
                    add(at, marks.items())  # there may be thousands of teams, so `at` is not copied for each
                elif counting[condition]:
                    at = join_masks(at, marks)
        return at

    def _list_served(
        self, principal: PrincipalId, teams: frozenset[tuple[str, ResourceId]], span: ValidityWindow
    ) -> list[Grants]:
        """Return the grants of the teams of a principal, and of the teams of which these are members."""
        seen, found = {*teams}, list[Grants]()
        waiting = [each for each in teams if each[1] != principal]
        while waiting:
            model, team = waiting.pop()
            grants = self._granting.of(team, span).select_by_model(model)
            found.append(grants)
            new = [each for each in grants.outer if each not in seen and each[1] != principal]
            seen.update(new)
            waiting.extend(new)
        return found

    def _together(self, principal: PrincipalId, groups: tuple[Grants, ...]) -> Mapping[MembershipCondition, Masks]:
        """Return the joint masks of the principal's groups; they are reused while the groups' grants are the same."""
        found = self._shared.get(principal)
        if found is None or len(found[0]) != len(groups) or not all(map(is_, found[0], groups)):
            masks: dict[MembershipCondition, Masks] = {}
            for each in groups:
                for condition, marks in each.masks.items():
                    masks[condition] = join_masks(masks.get(condition, {}), marks)
            found = self._shared.put(principal, (groups, masks))
        return found[1]


def _stands(condition: MembershipCondition, anchor: MembershipAnchor, kind: str, parts: tuple[Grants, ...]) -> bool:
    return kind not in anchor.kinds or any(
        (condition.model, anchor.place, role) in each.roles for each in parts for role in anchor.roles
    )
