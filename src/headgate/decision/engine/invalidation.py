"""What changes touch: which of what an engine has worked out may be otherwise after them."""

from collections.abc import Collection, Iterable, Iterator

from headgate.decision.engine.compile import CompiledModels
from headgate.decision.engine.position import PositionKey
from headgate.facts import changes as c
from headgate.facts.ids import GroupId, PrincipalId, ResourceId, SubjectId
from headgate.facts.snapshot import NOTHING_HELD, Snapshot

_MANY = 1_000
"""Who or what is tied to more than this is not followed: then everybody or every place counts as touched."""

_COMING = (c.ResourceCreated, c.GroupCreated, c.TokenIssued, c.AccessRequested, c.ChangeRequested, c.RelationsSet)
"""By these a resource, which they name first, comes or stands otherwise."""

_GOING = (c.ResourceDeleted, c.PrincipalRemoved, c.GroupDeleted, c.TokenRevoked, c.AccessDeleted)
"""By these something, which they name first, goes with all that belongs to it."""

_LOOKED_AT = (c.AccessApproved, c.ChangeDecided, c.RunAsSet, c.RunStarted, c.RunEnded, c.RequestFiled, c.RequestDecided)
"""What these change is looked at when a question is asked, if ever."""


class Invalidation:
    """What changes touch on the way from one snapshot to another; what they do not touch is as it was.

    `people` are principals that may hold something else, `places` those where others may hold something, `below` places
    below which they may, `subjects` those that may have been assigned something else, `groups` those
    behind which others may stand. In `shelves` other resources may
    lie, and below the places in `contents`; `positions` may be other ones.
    With `everybody`, `everywhere` or `everything` there is no telling.
    """

    def __init__(
        self, compiled: CompiledModels, before: Snapshot, after: Snapshot, changes: Iterable[c.Change]
    ) -> None:
        self.people: set[PrincipalId] = set()
        self.subjects: set[SubjectId] = set()
        self.groups: set[SubjectId] = set()
        self.places: set[ResourceId] = set()
        self.below: set[ResourceId] = set()
        self.shelves: set[ResourceId] = set()
        self.contents: set[ResourceId] = set()
        self.positions: set[PositionKey] = set()
        self.everybody = self.everywhere = self.everything = False
        self._compiled = compiled
        self._before = before
        self._both = (before, after)
        self._trees = self._both if before.resources is not after.resources else (after,)
        for change in changes:
            self._note(change)

    def _note(self, change: c.Change) -> None:
        match change:
            case c.RoleAssigned() | c.RoleRevoked():
                self._assignment(change.subject, change.resource)
            case c.MemberAdded() | c.MemberRemoved():
                self.people.add(change.principal)
                self._group(change.group)
            case c.PrincipalAdded(id) | c.PrincipalExpires(id):
                self._principal(id)
                self._resource(ResourceId(id))
            case c.AccessEnded(id):
                self._agreement(id)
            case c.ResourceRenamed(id, parent):
                if id not in self._before.resources or self._before.resources[id].parent != parent:
                    self._note_deleted(id)
            case c.AttributesSet(id):
                # Of the organization itself: it may be suspended or resumed, which every decision depends on.
                everywhere = self._compiled.attributed or id == self._before.organization
                self.everything = self.everything or everywhere
            case _:
                self._note_by_kind(change)

    def _note_by_kind(self, change: c.Change) -> None:
        kind, id = type(change), getattr(change, change.__match_args__[0])
        if kind in _COMING:
            self._resource(id)
            # An assignment that an imported log has on it counts from now on.
            self._subjects_at(self._before, id)
        elif kind in _GOING:
            self._note_deleted(id)
        elif kind not in _LOOKED_AT:
            self.everything = True

    def _assignment(self, subject: SubjectId, place: ResourceId) -> None:
        self.subjects.add(subject)
        self._people_of(subject)
        self._place(place)
        if self._is_team(place):
            self._places_of(place)

    def _principal(self, principal: PrincipalId) -> None:
        self.people.add(principal)
        self._group(principal)
        for facts in self._both:
            for group in facts.groups_of(principal):
                self._group(group)

    def _group(self, subject: PrincipalId | GroupId) -> None:
        """Touch who stands behind the subject, and where that counts."""
        self.groups.add(subject)
        self._places_of(subject)

    def _agreement(self, access: ResourceId) -> None:
        for facts in self._both:
            if access in facts.agreements:
                port = facts.agreements[access].port
                self._place(port)
                self._subjects_at(facts, port)

    def _note_deleted(self, id: str) -> None:
        for each in _with_belongings(self._before, id):
            place = ResourceId(each)
            self._principal(PrincipalId(each))
            self._agreement(place)
            self._place(place)
            self._resource(place)
            self.subjects.add(PrincipalId(each))
            self._people_of(PrincipalId(each))
            self._subjects_at(self._before, place)

    def _subjects_at(self, facts: Snapshot, place: ResourceId) -> None:
        for subject in facts.assignments_on.get(place, ()):
            self.subjects.add(subject)
            self._people_of(subject)

    def _people_of(self, subject: SubjectId) -> None:
        """Touch the principals that the subject is, that are in it, or that have what it is assigned."""
        for facts in self._both:
            team = facts.assignments_on.get(ResourceId(subject), ()) if self._is_team(ResourceId(subject)) else ()
            for each in (subject, *team):
                group = facts.groups.get(GroupId(each))
                people: Collection[PrincipalId] = group.members if group else (PrincipalId(each),)
                self.everybody = self.everybody or len(people) > _MANY
                if not self.everybody:
                    self.people.update(people)

    def _places_of(self, subject: SubjectId) -> None:
        """Touch the places where the subject is assigned anything; for a team, those where that is."""
        for facts in self._both:
            given = facts.assignments.get(subject, NOTHING_HELD)
            self.everywhere = self.everywhere or len(given) > _MANY
            for _, place, _ in () if self.everywhere else given:
                self._place(place)
                if self._is_team(place):
                    for _, served, _ in facts.assignments.get(place, NOTHING_HELD):
                        self._place(served)

    def _place(self, place: ResourceId) -> None:
        self.places.add(place)
        if self._compiled.raised:
            self.below.update(self._line(place))

    def _resource(self, id: ResourceId) -> None:
        """Touch a resource that comes, goes, or stands otherwise: it, what names it, and what it lies in."""
        for facts in self._both:
            line = [each.id for each in facts.ancestors(id)] if id in facts.resources else []
            # In what it lies in there may be something now, or nothing any more; so that may be an inner one or not.
            self.shelves.update((id, *line[:2]))
            self.contents.update((id, *line))
        self.positions.update((id, type) for type in self._compiled.types)
        self.positions.update((id, *self._find_naming(id)))
        self.everything = self.everything or self._leads_down(id)

    def _find_naming(self, id: ResourceId) -> Iterator[ResourceId]:
        """Yield what names the resource in a relation, and what names that: a pipeline rests on where its tables stand."""
        for facts in self._both:
            for each in facts.referrers.get(id, ()):
                yield each
                yield from facts.referrers.get(each, ())

    def _leads_down(self, id: ResourceId) -> bool:
        """Say whether a relation of this resource, or one that names it, may change what comes down to others."""
        lineage = self._compiled.lineage
        there = [facts.resources[id] for facts in self._both if id in facts.resources] if lineage else []
        naming = [facts.resources[each] for facts in self._both if lineage for each in facts.referrers.get(id, ())]
        stays = len(there) == len(self._both)
        return (stays and any(relation in each.relations for each in there for relation in lineage)) or any(
            edge.target == id for each in naming for relation in lineage for edge in each.relations.get(relation, ())
        )

    def _is_team(self, id: ResourceId) -> bool:
        found = [facts.resources.get(id) for facts in self._trees] if self._compiled.teams else []
        return any(each is not None and each.type in self._compiled.teams for each in found)

    def _line(self, id: ResourceId) -> Iterator[ResourceId]:
        for facts in self._trees:
            if id in facts.resources:
                yield from (each.id for each in facts.ancestors(id))


def _with_belongings(facts: Snapshot, id: str) -> Iterator[str]:
    """Yield what goes when this goes: it, what lies below it, and the tokens of all these."""
    for each in (*facts.list_below(ResourceId(id)), id):
        yield each
        for token in facts.actors_of.get(PrincipalId(each), ()):
            if token in facts.tokens:
                yield from _with_belongings(facts, token)
