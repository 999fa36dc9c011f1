"""What a principal holds, as masks at places: every assignment that counts for it, its groups' and teams' too."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf

from headgate.decision.asked import not_standing
from headgate.decision.compile import Compiled
from headgate.decision.engine_ground import Anchor
from headgate.decision.engine_grounds import Grounds
from headgate.decision.places import kind_of
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Assignment, Held, Principal, Snapshot

Place = tuple[str, ResourceId, str]
"""A model, a place, and a role that is assigned there under the model."""

_NOTHING = Held()


class Span:
    """The time around a moment in which nothing that was noticed begins or ends: since <= now < until."""

    __slots__ = ("now", "since", "until")

    def __init__(self, now: float) -> None:
        self.now = now
        self.since = -inf
        self.until = inf

    def covers(self, given: Assignment) -> bool:
        """Say whether the assignment is within its dates, and notice these."""
        if given.starts is None and given.ends is None:
            return True
        self._notice(given.starts)
        self._notice(given.ends)
        return given.holds_at(self.now)

    def exists(self, principal: Principal) -> bool:
        """Say whether the principal has not expired, and notice when it does."""
        self._notice(principal.ends)
        return principal.ends is None or self.now < principal.ends

    def narrow(self, other: "Span") -> None:
        """Narrow it to what is in the other one too, which is around the same moment."""
        self.since, self.until = max(self.since, other.since), min(self.until, other.until)

    def _notice(self, date: float | None) -> None:
        if date is not None and date <= self.now:
            self.since = max(self.since, date)
        elif date is not None:
            self.until = min(self.until, date)


@dataclass(frozen=True, slots=True)
class Holdings:
    """What a principal holds while since <= now < until; `exists` is whether it is anybody then."""

    principal: PrincipalId
    exists: bool
    at: dict[ResourceId, int]
    since: float = -inf
    until: float = inf


def holdings(facts: Snapshot, compiled: Compiled, grounds: Grounds, principal: PrincipalId, now: float) -> Holdings:
    """Return what the principal holds at a time."""
    span, record = Span(now), facts.principals.get(principal)
    if record:
        span.exists(record)
    exists = not_standing(facts, Caller(principal), now) is None
    at = _masks(facts, grounds, principal, list(_assigned(facts, compiled, principal, span))) if exists else {}
    return Holdings(principal, exists, at, span.since, span.until)


def everything(facts: Snapshot, grounds: Grounds, principal: PrincipalId, places: Iterable[ResourceId]) -> Holdings:
    """Return the holdings of somebody who has every role of every model on these places, and nothing else."""
    at: dict[ResourceId, int] = {}
    for id in places:
        if id in facts.resources:
            for place, bits in grounds.everything(facts.resources[id]):
                at[place] = at.get(place, 0) | bits
    return Holdings(principal, exists=True, at=at)


def _assigned(facts: Snapshot, compiled: Compiled, principal: PrincipalId, span: Span) -> Iterator[Assignment]:
    teams: dict[tuple[str, ResourceId], None] = {}
    for subject in (principal, *facts.groups_of(principal)):
        for given in filter(span.covers, facts.assignments.get(subject, _NOTHING).values()):
            if compiled.teams and given.resource != principal and _in_team(facts, compiled, given):
                teams[given.model, given.resource] = None
            yield given
    for model, team in teams:
        for given in filter(span.covers, facts.assignments.get(team, _NOTHING).values()):
            if given.model == model:
                yield given


def _in_team(facts: Snapshot, compiled: Compiled, given: Assignment) -> bool:
    """Say whether the assignment makes its subject one of a team, and so a subject of what the team is assigned."""
    rules = compiled.rules.get(given.model)
    return rules is not None and facts.resources[given.resource].type in rules.model.members


def _masks(
    facts: Snapshot, grounds: Grounds, principal: PrincipalId, assigned: list[Assignment]
) -> dict[ResourceId, int]:
    kind, resources = kind_of(facts, principal), facts.resources
    roles = {(given.model, given.resource, given.role) for given in assigned}
    at: dict[ResourceId, int] = {}
    for given in assigned:
        origin = resources[given.resource]
        here, raised, anchors = grounds.meaning(given, origin)
        if anchors and not all(_stands(anchor, kind, given.model, roles) for anchor in anchors):
            continue
        if here:
            at[origin.id] = at.get(origin.id, 0) | here
        for place, bits in raised:
            at[place] = at.get(place, 0) | bits
    return at


def _stands(anchor: Anchor, kind: str, model: str, roles: set[Place]) -> bool:
    return kind not in anchor.kinds or any((model, anchor.place, role) in roles for role in anchor.roles)
