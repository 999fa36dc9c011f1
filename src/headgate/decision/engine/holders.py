"""Holders: the principals with each role at a place; the assignments of the holdings, indexed by place."""

from collections.abc import Iterator
from typing import NamedTuple

from headgate.decision.engine.cache import BoundedCache
from headgate.decision.engine.compile import CompiledModels
from headgate.decision.engine.invalidation import Invalidation
from headgate.decision.engine.position import CompiledRole, MembershipAnchor, MembershipCondition
from headgate.decision.engine.positions import PositionIndex
from headgate.decision.engine.validity import ValidityWindow
from headgate.facts.ids import GroupId, PrincipalId, ResourceId, SubjectId
from headgate.facts.snapshot import NO_SUBJECTS, Assignment, Resource, Snapshot

_MOST = 1 << 13
"""The number of places in each cache; an entry takes about sixty bytes for each principal."""

Principals = frozenset[PrincipalId]

_NOBODY: Principals = frozenset()


class HolderRow(NamedTuple):
    """All principals with the same role at a place under a model, whether it counts or not, and the compiled role."""

    model: str
    role: str
    meaning: CompiledRole
    people: Principals


class ResourceHolders:
    """All rows of a place, within a span of time."""

    __slots__ = ("_having", "rows", "span")

    def __init__(self, rows: tuple[HolderRow, ...], span: ValidityWindow) -> None:
        self.rows = rows
        self.span = span
        self._having: dict[tuple[str, frozenset[str]], Principals] = {}

    def find_holders(self, model: str, roles: frozenset[str]) -> Principals:
        """Return the principals with one of these roles of the model at the place."""
        found = self._having.get((model, roles))
        if found is None:
            having = (row.people for row in self.rows if row.model == model and row.role in roles)
            found = self._having[model, roles] = _NOBODY.union(*having)
        return found


class SubjectMembers(NamedTuple):
    """The principals that a subject consists of, within a span of time."""

    people: Principals
    span: ValidityWindow


class HolderIndex:
    """The holders at all places of a snapshot."""

    def __init__(
        self,
        compiled: CompiledModels,
        facts: Snapshot,
        grounds: PositionIndex,
        kept: tuple[
            BoundedCache[ResourceId, ResourceHolders],
            BoundedCache[ResourceId, ResourceHolders],
            BoundedCache[SubjectId, SubjectMembers],
        ]
        | None = None,
    ) -> None:
        self._compiled = compiled
        self._facts = facts
        self._grounds = grounds
        self._kept, self._lifted, self._crowds = kept or (BoundedCache(_MOST), BoundedCache(_MOST), BoundedCache(_MOST))

    def advance(self, facts: Snapshot, grounds: PositionIndex, touched: Invalidation) -> "HolderIndex":
        """Return the holders in the snapshot after these changes."""
        crowds = self._crowds.without(touched.groups)
        if touched.everywhere:
            return HolderIndex(self._compiled, facts, grounds, (BoundedCache(_MOST), BoundedCache(_MOST), crowds))
        kept, lifted = self._kept.without(touched.places), self._lifted.without(touched.below)
        return HolderIndex(self._compiled, facts, grounds, (kept, lifted, crowds))

    def holders_with(self, place: ResourceId, mask: int, now: float) -> Iterator[Principals]:
        """Yield all principals with one of these bits at the place, in sets."""
        yield from self._list_counting(self._roll(place, now).rows, mask, now)
        if mask & self._compiled.raised:
            yield from self._list_counting(self._propagated(place, now).rows, mask, now)

    def _list_counting(self, rows: tuple[HolderRow, ...], mask: int, now: float) -> Iterator[Principals]:
        for model, _, meaning, people in rows:
            if meaning.here & mask:
                for anchor in meaning.condition.anchors:
                    people -= self._find_without_membership(model, anchor, people, now)  # noqa: PLW2901  each anchor reduces the set
                yield people

    def _find_without_membership(
        self, model: str, anchor: MembershipAnchor, people: Principals, now: float
    ) -> Principals:
        principals = self._facts.principals
        without = people - self._roll(anchor.place, now).find_holders(model, anchor.roles)
        return frozenset(each for each in without if principals[each].kind in anchor.kinds)

    def _roll(self, place: ResourceId, now: float) -> ResourceHolders:
        found = self._kept.get(place)
        if found is None or not found.span.includes(now):
            found = self._kept.put(place, self._build_row(place, now))
        return found

    def _build_row(self, place: ResourceId, now: float) -> ResourceHolders:
        """Build the rows of all principals with an assignment at the place."""
        facts, span, origin = self._facts, ValidityWindow(now), self._facts.resources[place]
        rows: dict[tuple[str, str], tuple[CompiledRole, set[PrincipalId]]] = {}
        for subject, keys in facts.assignments_on.get(place, NO_SUBJECTS).items():
            for given in (facts.assignments[subject][key] for key in keys):
                if given.model in self._compiled.rules and span.covers(given):
                    new = (self._grounds.get_compiled_role(given, origin), set[PrincipalId]())
                    people = rows.setdefault((given.model, given.role), new)[1]
                    people.update(self._members(subject, span))
                    people.update(*self._team(subject, given.model, span))
        return ResourceHolders(
            tuple(HolderRow(*key, each, frozenset(people)) for key, (each, people) in rows.items()), span
        )

    def _members(self, subject: SubjectId, span: ValidityWindow) -> Principals:
        """Return the principals of the subject: itself, or a group's members."""
        found = self._crowds.get(subject)
        if found is None or not found.span.includes(span.now):
            found = self._crowds.put(subject, self._build_members(subject, ValidityWindow(span.now)))
        span.narrow(found.span)
        return found.people

    def _build_members(self, subject: SubjectId, span: ValidityWindow) -> SubjectMembers:
        group = self._facts.groups.get(GroupId(subject))
        people = group.members if group else (PrincipalId(subject),)
        members = ((each, self._facts.principals.get(each)) for each in people)
        return SubjectMembers(frozenset(each for each, found in members if found and span.exists(found)), span)

    def _team(self, subject: SubjectId, model: str, span: ValidityWindow) -> Iterator[Principals]:
        """Yield the members of the subject, if it is a team whose members get its assignments, and those of its member teams."""
        facts, rules = self._facts, self._compiled.rules.get(model)
        waiting = [subject] if rules and rules.joining else []
        seen = {subject}
        while waiting:
            team = facts.resources.get(ResourceId(waiting.pop()))
            joining = rules.joining.get(team.type, 0) if rules and team else 0
            for each, keys in facts.assignments_on.get(team.id, NO_SUBJECTS).items() if team and joining != 0 else ():
                given = (facts.assignments[each][key] for key in keys)
                if team and any(self._joins(one, model, team, joining, span) for one in given):
                    yield self._members(each, span) - {PrincipalId(subject)}
                    if joining is not None and each not in seen:
                        seen.add(each)
                        waiting.append(each)

    def _joins(self, given: Assignment, model: str, team: Resource, joining: int | None, span: ValidityWindow) -> bool:
        """Whether an assignment on a team makes its subject a member; `joining` are the bits that do so, None for any."""
        counts = given.model == model and span.covers(given)
        return counts and (joining is None or bool(self._grounds.get_compiled_role(given, team).here & joining))

    def _propagated(self, place: ResourceId, now: float) -> ResourceHolders:
        """Return the principals with an assignment below that a rule with `up` spreads to the place."""
        found = self._lifted.get(place)
        if found is None or not found.span.includes(now):
            found = self._lifted.put(place, self._build_propagated(place, now))
        return found

    def _build_propagated(self, place: ResourceId, now: float) -> ResourceHolders:
        span, rows = ValidityWindow(now), dict[tuple[MembershipCondition, int], set[PrincipalId]]()
        for id in self._facts.list_below(place):
            if id in self._facts.assignments_on:
                roll = self._roll(id, now)
                span.narrow(roll.span)
                for row in roll.rows:
                    for there, bits in row.meaning.raised:
                        if there == place:
                            rows.setdefault((row.meaning.condition, bits), set()).update(row.people)
        lifted = (
            HolderRow(condition.model, "", CompiledRole(bits, (), condition), frozenset(people))
            for (condition, bits), people in rows.items()
        )
        return ResourceHolders(tuple(lifted), span)
