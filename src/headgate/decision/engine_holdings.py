"""What a principal holds, as masks at places: of every assignment that counts for it, its groups' and teams' too."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from headgate.decision.asked import not_standing
from headgate.decision.compile import Compiled
from headgate.decision.engine_ground import Anchor
from headgate.decision.engine_grounds import Grounds
from headgate.decision.engine_memo import Memo
from headgate.decision.engine_span import Span
from headgate.decision.engine_touched import Touched
from headgate.decision.places import kind_of
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId, SubjectId
from headgate.facts.snapshot import NOTHING_HELD, Snapshot

_MOST = 1 << 15
"""How many subjects' grants and how many principals' holdings are kept; a hundred assignments take about ten kilobytes."""

Masks = dict[ResourceId, int]
"""Bits by place."""

Condition = tuple[str, tuple[Anchor, ...]]
"""A model, and what an assignment under it rests on."""


class Grants(NamedTuple):
    """What one subject itself was assigned, for whoever stands behind it.

    `masks` are the bits, by what they rest on. `roles` are models, places and roles there, counting or not; `teams`
    models and teams, whose assignments under the model the subject has as well.
    """

    masks: dict[Condition, Masks]
    roles: frozenset[tuple[str, ResourceId, str]]
    teams: frozenset[tuple[str, ResourceId]]
    span: Span


@dataclass(frozen=True, slots=True)
class Holdings:
    """What a principal holds within a span; `exists` is whether it is anybody then."""

    principal: PrincipalId
    exists: bool
    at: Masks
    since: float
    until: float


class Holders:
    """The holdings of all principals of a snapshot. Those in `near` are at hand."""

    def __init__(
        self,
        compiled: Compiled,
        facts: Snapshot,
        grounds: Grounds,
        grants: Memo[SubjectId, Grants] | None = None,
        kept: Memo[PrincipalId, Holdings] | None = None,
    ) -> None:
        self._compiled = compiled
        self._facts = facts
        self._grounds = grounds
        self._grants = grants or Memo[SubjectId, Grants](_MOST)
        self._kept = kept or Memo[PrincipalId, Holdings](_MOST)
        self.near = self._kept.near

    def after(self, facts: Snapshot, grounds: Grounds, touched: Touched) -> "Holders":
        """Return the holdings in the snapshot after these changes."""
        kept = None if touched.everybody else self._kept.without(touched.people)
        return Holders(self._compiled, facts, grounds, self._grants.without(touched.subjects), kept)

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
                _add(at, self._grounds.everything(self._facts.resources[id]))
        always = Span(0.0)
        return Holdings(principal, exists=True, at=at, since=always.since, until=always.until)

    def _holdings(self, principal: PrincipalId, now: float) -> Holdings:
        span, record, at = Span(now), self._facts.principals.get(principal), Masks()
        if record:
            span.exists(record)
        exists = not_standing(self._facts, Caller(principal), now) is None
        parts = list(self._parts(principal, span)) if exists else []
        kind, met = kind_of(self._facts, principal), dict[Condition, bool]()
        for only, grants in parts:
            for condition, masks in grants.masks.items():
                if only is None or condition[0] == only:
                    if condition not in met:
                        met[condition] = all(_stands(condition[0], each, kind, parts) for each in condition[1])
                    if met[condition]:
                        _add(at, masks.items())
        return Holdings(principal, exists, at, span.since, span.until)

    def _parts(self, principal: PrincipalId, span: Span) -> Iterator[tuple[str | None, Grants]]:
        """Yield the grants of all that the principal stands behind; for a team only what counts under one model."""
        own = [self._granted(each, span) for each in (principal, *self._facts.groups_of(principal))]
        yield from ((None, each) for each in own)
        for model, team in frozenset[tuple[str, ResourceId]]().union(*(each.teams for each in own)):
            if team != principal:
                yield model, self._granted(team, span)

    def _granted(self, subject: SubjectId, span: Span) -> Grants:
        found = self._grants.get(subject)
        if found is None or not found.span.includes(span.now):
            found = self._grants.put(subject, self._read(subject, Span(span.now)))
        span.narrow(found.span)
        return found

    def _read(self, subject: SubjectId, span: Span) -> Grants:
        facts, compiled, masks = self._facts, self._compiled, dict[Condition, Masks]()
        roles, teams = set[tuple[str, ResourceId, str]](), set[tuple[str, ResourceId]]()
        for given in facts.assignments.get(subject, NOTHING_HELD).values():
            rules, place = compiled.rules.get(given.model), given.resource
            if rules and span.covers(given):
                origin = facts.resources[place]
                here, raised, anchors = self._grounds.meaning(given, origin)
                _add(masks.setdefault((given.model, anchors), {}), ((place, here), *raised))
                roles.add((given.model, place, given.role))
                if origin.type in rules.model.members:
                    teams.add((given.model, place))
        return Grants(masks, frozenset(roles), frozenset(teams), span)


def _add(at: Masks, marks: Iterable[tuple[ResourceId, int]]) -> None:
    for place, bits in marks:
        at[place] = at.get(place, 0) | bits


def _stands(model: str, anchor: Anchor, kind: str, parts: list[tuple[str | None, Grants]]) -> bool:
    return kind not in anchor.kinds or any(
        (model, anchor.place, role) in grants.roles
        for only, grants in parts
        if only is None or only == model
        for role in anchor.roles
    )
