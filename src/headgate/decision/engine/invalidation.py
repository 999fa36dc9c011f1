"""Cache invalidation: the cached results of an engine that a set of changes may alter."""

from collections.abc import Collection, Iterable, Iterator

from headgate.decision.engine.compile import CompiledModels
from headgate.decision.engine.position import PositionKey
from headgate.facts import changes as c
from headgate.facts.ids import GroupId, PrincipalId, ResourceId, SubjectId
from headgate.facts.snapshot import NOTHING_HELD, Snapshot

_MANY = 1_000
"""The largest number of principals or places that are followed; beyond it, all of them count as invalidated."""

_COMING = (c.ResourceCreated, c.GroupCreated, c.TokenIssued, c.AccessRequested, c.ChangeRequested, c.RelationsSet)
"""Changes that create the resource in their first field, or change its position."""

_GOING = (c.ResourceDeleted, c.PrincipalRemoved, c.GroupDeleted, c.TokenRevoked, c.AccessDeleted)
"""Changes that delete the entity in their first field, with everything that belongs to it."""

_LOOKED_AT = (
    *(c.AccessApproved, c.ChangeDecided, c.RunAsSet, c.RunStarted, c.RunEnded, c.RequestFiled, c.RequestDecided),
    *(c.ModelInstalled, c.ModelRemoved),
)
"""Changes that invalidate nothing: their facts are read at each question, if at all."""


class Invalidation:
    """The cached results that changes invalidate between two snapshots; all others remain valid.

    `people` are principals whose holdings may differ, `places` those whose holders may differ, `below` places below which
    holders may differ, `subjects` those whose own assignments may differ, and `groups` subjects whose members may differ.
    `shelves` are places whose children may differ, `contents` places below which resources may differ, and `positions`
    the positions that may differ. With `everybody`, `everywhere` or `everything`, all principals, places or results
    count as invalidated.
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
                # An attribute of the organization itself suspends or resumes it, and every decision depends on that.
                everywhere = self._compiled.attributed or id == self._before.organization
                self.everything = self.everything or everywhere
            case _:
                self._note_by_kind(change)

    def _note_by_kind(self, change: c.Change) -> None:
        kind, id = type(change), getattr(change, change.__match_args__[0])
        if kind in _COMING:
            self._resource(id)
            # An imported log may have an assignment on it already, which counts from now on.
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
        """Invalidate the members of the subject, and the places where it has assignments."""
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
        """Invalidate the principals of the subject: itself, a group's members, or a team's members, at any depth."""
        for facts in self._both:
            for each in self._list_members(facts, subject):
                group = facts.groups.get(GroupId(each))
                people: Collection[PrincipalId] = group.members if group else (PrincipalId(each),)
                self.everybody = self.everybody or len(people) > _MANY
                if self.everybody:
                    return
                self.people.update(people)

    def _list_members(self, facts: Snapshot, start: SubjectId) -> Iterator[SubjectId]:
        """Yield the subject, its members if it is a team, and so on; stop, with `everybody`, at too many."""
        seen, waiting = {start}, [start]
        while waiting:
            current = waiting.pop()
            yield current
            team = ResourceId(current)
            found = facts.assignments_on.get(team, ()) if self._is_team(team) else ()
            new = [each for each in found if each not in seen]
            seen.update(new)
            waiting.extend(new)
            if len(seen) > _MANY:
                self.everybody = True
                return

    def _places_of(self, subject: SubjectId) -> None:
        """Invalidate the places where the subject has an assignment; for a place that is a team, also the team's places."""
        for facts in self._both:
            seen, waiting = {subject}, [subject]
            while waiting and not self.everywhere:
                given = facts.assignments.get(waiting.pop(), NOTHING_HELD)
                self.everywhere = len(given) > _MANY or len(seen) > _MANY
                for _, place, _ in () if self.everywhere else given:
                    self._place(place)
                    if place not in seen and self._is_team(place):
                        seen.add(place)
                        waiting.append(place)

    def _place(self, place: ResourceId) -> None:
        self.places.add(place)
        if self._compiled.raised:
            self.below.update(self._line(place))

    def _resource(self, id: ResourceId) -> None:
        """Invalidate a resource that is created, deleted or moved: itself, the resources that name it, and its ancestors."""
        for facts in self._both:
            line = [each.id for each in facts.ancestors(id)] if id in facts.resources else []
            # Its parent may have become empty or non-empty, so the parent's entry in its own parent's `inner` may change.
            self.shelves.update((id, *line[:2]))
            self.contents.update((id, *line))
        self.positions.update((id, type) for type in self._compiled.types)
        self.positions.update((id, *self._find_naming(id)))
        self.everything = self.everything or self._leads_down(id)

    def _find_naming(self, id: ResourceId) -> Iterator[ResourceId]:
        """Yield the resources that name the resource in a relation, and those that name these: pipelines depend on their tables."""
        for facts in self._both:
            for each in facts.referrers.get(id, ()):
                yield each
                yield from facts.referrers.get(each, ())

    def _leads_down(self, id: ResourceId) -> bool:
        """Whether a relation of this resource, or one that names it, may change the roles that come down to other resources."""
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
    """Yield the ids that are deleted with an id: itself, all resources below it, and the tokens of all these."""
    for each in (*facts.list_below(ResourceId(id)), id):
        yield each
        for token in facts.actors_of.get(PrincipalId(each), ()):
            if token in facts.tokens:
                yield from _with_belongings(facts, token)
