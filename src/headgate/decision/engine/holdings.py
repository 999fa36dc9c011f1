"""Holdings: the bits of all assignments that count for a principal, including those of its groups and teams."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from operator import is_

from headgate.decision.caller_validity import caller_invalid
from headgate.decision.engine.cache import BoundedCache
from headgate.decision.engine.grants import GrantIndex, Grants, Masks, TeamKey, add, join_masks
from headgate.decision.engine.invalidation import Invalidation
from headgate.decision.engine.position import MembershipAnchor, MembershipCondition
from headgate.decision.engine.positions import PositionIndex
from headgate.decision.engine.team_reach import ANY_MODEL, TeamReach, build_reach, keys_of, list_teams, update_reach
from headgate.decision.engine.validity import ValidityWindow
from headgate.decision.tree import subject_kind
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId, SubjectId
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


MANY_TEAMS = 64
"""The number of teams from which on the reach of a principal is kept and updated, instead of read again."""

_MOST_REACHES = 256
"""The most principals whose reach is kept; one of 10,000 teams takes about three megabytes."""

_MOST_CHANGED = 100
"""The most changed subjects for which a reach is updated; after more of them it is built again."""


@dataclass(frozen=True, slots=True)
class KeptReach:
    """The reach of a principal while since <= now < until, and the subjects whose assignments have changed since then."""

    reach: TeamReach
    changed: frozenset[SubjectId]
    since: float
    until: float


class HoldingsIndex:
    """The holdings of all principals of a snapshot. `near` has those in use, for fast access."""

    def __init__(
        self,
        facts: Snapshot,
        grounds: PositionIndex,
        granting: GrantIndex,
        kept: BoundedCache[PrincipalId, Holdings] | None = None,
        shared: BoundedCache[PrincipalId, Shared] | None = None,
        reaches: dict[PrincipalId, KeptReach] | None = None,
    ) -> None:
        self._facts = facts
        self._grounds = grounds
        self._granting = granting
        self._kept = kept or BoundedCache[PrincipalId, Holdings](_MOST)
        self._shared = shared or BoundedCache[PrincipalId, Shared](_MOST)
        self._reaches = reaches or {}
        self.near = self._kept.near

    def advance(self, facts: Snapshot, grounds: PositionIndex, touched: Invalidation) -> "HoldingsIndex":
        """Return the holdings in the snapshot after these changes."""
        kept = None if touched.everybody else self._kept.without(touched.people)
        reaches = {} if touched.everybody else dict(self._list_reaches(touched))
        granting = self._granting.advance(facts, grounds, touched)
        return HoldingsIndex(facts, grounds, granting, kept, self._shared.without(()), reaches)

    def _list_reaches(self, touched: Invalidation) -> Iterator[tuple[PrincipalId, KeptReach]]:
        """Yield the kept reaches, each with the subjects whose assignments changed since then."""
        for principal, kept in self._reaches.copy().items():  # another thread may add some
            # Also those that the principal does not reach now: it may reach them again before the next question.
            among = (key for key in keys_of(touched.subjects, self._granting.models) if key in kept.reach.subjects)
            changed = kept.changed.union(key[1] for key in among)
            if len(changed) <= _MOST_CHANGED:
                yield principal, replace(kept, changed=changed)

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
        groups = self._facts.groups_of(principal)
        roots = frozenset((ANY_MODEL, ResourceId(each)) for each in (principal, *groups))
        reach = self._update_reach(principal, roots, span)
        if reach is None:
            own, crew = self._granting.of(principal, span), tuple(self._granting.of(each, span) for each in groups)
            starts = own.teams.union(*(each.teams for each in crew))
            grants_of = partial(self._of_subject, span)
            teams = dict(list_teams(starts, (), grants_of)) if starts else {}
            if len(teams) < MANY_TEAMS or self._granting.has_conditions:
                return self._count(principal, own, crew, tuple(teams.values()))
            reach = build_reach(roots, {**{each: grants_of(each) for each in roots}, **teams})
        if len(self._reaches) >= _MOST_REACHES:
            self._reaches.clear()
        self._reaches[principal] = KeptReach(reach, frozenset(), span.since, span.until)
        return reach.at

    def _count(
        self, principal: PrincipalId, own: Grants, groups: tuple[Grants, ...], teams: tuple[Grants, ...]
    ) -> Masks:
        """Return the bits of the grants whose membership conditions the principal meets."""
        kind, parts = subject_kind(self._facts, principal), (own, *groups, *teams)
        counting: dict[MembershipCondition, bool] = {}
        at: Masks = {}
        for masks in (self._together(principal, groups), own.masks, *(each.masks for each in teams)):
            for condition, marks in masks.items():
                if condition not in counting:
                    counting[condition] = all(_stands(condition, each, kind, parts) for each in condition.anchors)
                if counting[condition]:
                    at = join_masks(at, marks)
        return at

    def _of_subject(self, span: ValidityWindow, subject: TeamKey) -> Grants:
        """Return the grants of a team under a model, or of the principal or a group under all models; see `TeamReach`."""
        grants = self._granting.of(subject[1], span)
        return grants._replace(outer=grants.teams) if subject[0] == ANY_MODEL else grants.select_by_model(subject[0])

    def _update_reach(
        self, principal: PrincipalId, roots: frozenset[TeamKey], span: ValidityWindow
    ) -> TeamReach | None:
        """Return the reach that was kept for the principal, after the changes since then; None if none is valid."""
        kept = self._reaches.get(principal)
        if kept is None or not kept.since <= span.now < kept.until:
            return None
        span.since, span.until = max(span.since, kept.since), min(span.until, kept.until)
        changed = keys_of(kept.changed, self._granting.models)
        return update_reach(kept.reach, roots, changed, self._facts, partial(self._of_subject, span))

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
