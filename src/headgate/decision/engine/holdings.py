"""What a principal holds: the bits of every assignment that counts for it, its groups' and teams' too."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from operator import is_

from headgate.decision.context import not_standing
from headgate.decision.engine.cache import Memo
from headgate.decision.engine.grants import Granting, Grants, Masks, add, joined
from headgate.decision.engine.invalidation import Touched
from headgate.decision.engine.position import Anchor, Condition
from headgate.decision.engine.positions import Grounds
from headgate.decision.engine.validity import Span
from headgate.decision.tree import kind_of
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Snapshot

_MOST = 1 << 14
"""How many principals' holdings are kept; a hundred assignments take about ten kilobytes, and as much for the groups'."""

Shared = tuple[tuple[Grants, ...], Mapping[Condition, Masks]]
"""The grants of some groups, and the masks of all of them together."""


@dataclass(frozen=True, slots=True)
class Holdings:
    """What a principal holds while since <= now < until; `exists` is whether it is anybody then."""

    principal: PrincipalId
    exists: bool
    at: Masks
    since: float = -inf
    until: float = inf


class Holders:
    """The holdings of all principals of a snapshot. Those in `near` are at hand."""

    def __init__(
        self,
        facts: Snapshot,
        grounds: Grounds,
        granting: Granting,
        kept: Memo[PrincipalId, Holdings] | None = None,
        shared: Memo[PrincipalId, Shared] | None = None,
    ) -> None:
        self._facts = facts
        self._grounds = grounds
        self._granting = granting
        self._kept = kept or Memo[PrincipalId, Holdings](_MOST)
        self._shared = shared or Memo[PrincipalId, Shared](_MOST)
        self.near = self._kept.near

    def after(self, facts: Snapshot, grounds: Grounds, touched: Touched) -> "Holders":
        """Return the holdings in the snapshot after these changes."""
        kept = None if touched.everybody else self._kept.without(touched.people)
        return Holders(facts, grounds, self._granting.after(facts, grounds, touched), kept, self._shared.without(()))

    def of(self, principal: PrincipalId, now: float) -> Holdings:
        """Return what the principal holds at a time."""
        found = self._kept.get(principal)
        if found is None or not found.since <= now < found.until:
            found = self._kept.put(principal, self._holdings(principal, now))
        return found

    def with_everything(self, principal: PrincipalId, places: Iterable[ResourceId]) -> Holdings:
        """Return what it would be to have every role of every model on these places, and nothing else."""
        at: Masks = {}
        for id in places:
            if id in self._facts.resources:
                add(at, self._grounds.everything(self._facts.resources[id]))
        return Holdings(principal, exists=True, at=at)

    def _holdings(self, principal: PrincipalId, now: float) -> Holdings:
        span, record = Span(now), self._facts.principals.get(principal)
        if record:
            span.exists(record)
        exists = not_standing(self._facts, Caller(principal), now) is None
        return Holdings(principal, exists, self._at(principal, span) if exists else {}, span.since, span.until)

    def _at(self, principal: PrincipalId, span: Span) -> Masks:
        own = self._granting.of(principal, span)
        groups = tuple(self._granting.of(each, span) for each in self._facts.groups_of(principal))
        teams = own.teams.union(*(each.teams for each in groups))
        served = [self._granting.of(team, span).under(model) for model, team in teams if team != principal]
        kind, parts = kind_of(self._facts, principal), (own, *groups, *served)
        counting: dict[Condition, bool] = {}
        at: Masks = {}
        for masks in (self._together(principal, groups), own.masks, *(each.masks for each in served)):
            for condition, marks in masks.items():
                if condition not in counting:
                    counting[condition] = all(_stands(condition, each, kind, parts) for each in condition.anchors)
                if counting[condition]:
                    at = joined(at, marks)
        return at

    def _together(self, principal: PrincipalId, groups: tuple[Grants, ...]) -> Mapping[Condition, Masks]:
        """Return the masks of all groups of the principal: those of before, as long as the groups' grants are the same."""
        found = self._shared.get(principal)
        if found is None or len(found[0]) != len(groups) or not all(map(is_, found[0], groups)):
            masks: dict[Condition, Masks] = {}
            for each in groups:
                for condition, marks in each.masks.items():
                    masks[condition] = joined(masks.get(condition, {}), marks)
            found = self._shared.put(principal, (groups, masks))
        return found[1]


def _stands(condition: Condition, anchor: Anchor, kind: str, parts: tuple[Grants, ...]) -> bool:
    return kind not in anchor.kinds or any(
        (condition.model, anchor.place, role) in each.roles for each in parts for role in anchor.roles
    )
