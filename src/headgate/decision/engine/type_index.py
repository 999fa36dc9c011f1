"""Index of resources by type, in groups of resources with the same type and parent."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from headgate.decision.engine.cache import BoundedCache
from headgate.decision.engine.invalidation import Invalidation
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import NO_NAMES, Snapshot

_MOST = 1 << 20
"""The number of places in each cache."""


class SiblingGroup(NamedTuple):
    """All resources of a type with this parent."""

    parent: ResourceId
    ids: tuple[ResourceId, ...]


class ChildGroups(NamedTuple):
    """The children of a place: a group for each type, and in `inner` the children that have children."""

    blocks: Mapping[str, SiblingGroup]
    inner: tuple[ResourceId, ...]


Blocks = Mapping[str, tuple[SiblingGroup, ...]]
"""All resources below a place, by type."""


class TypeIndex:
    """The resources of a snapshot, by type and place."""

    def __init__(
        self,
        facts: Snapshot,
        shelves: BoundedCache[ResourceId, ChildGroups] | None = None,
        below: BoundedCache[ResourceId, Blocks] | None = None,
    ) -> None:
        self._facts = facts
        self._shelves = shelves or BoundedCache[ResourceId, ChildGroups](_MOST)
        self._below = below or BoundedCache[ResourceId, Blocks](_MOST)

    def advance(self, facts: Snapshot, touched: Invalidation) -> "TypeIndex":
        """Return the index for the snapshot after these changes."""
        return TypeIndex(facts, self._shelves.without(touched.shelves), self._below.without(touched.contents))

    def of_type(self, type: str) -> Iterator[SiblingGroup]:
        """Yield all resources of the type, in groups."""
        root = self._facts.organization
        if root is not None:
            if self._facts.resources[root].type == type:
                yield SiblingGroup(root, (root,))
            yield from self._get_below(root).get(type, ())

    def _get_below(self, place: ResourceId) -> Blocks:
        found = self._below.get(place)
        return self._below.put(place, self._gather_below(place)) if found is None else found

    def _gather_below(self, place: ResourceId) -> Blocks:
        shelf = self._shelves.get(place) or self._shelves.put(place, self._shelf(place))
        found = {type: [block] for type, block in shelf.blocks.items()}
        for child in shelf.inner:
            for type, blocks in self._get_below(child).items():
                found.setdefault(type, []).extend(blocks)
        return {type: tuple(blocks) for type, blocks in found.items()}

    def _shelf(self, place: ResourceId) -> ChildGroups:
        facts, ids, inner = self._facts, dict[str, list[ResourceId]](), list[ResourceId]()
        for child in facts.children.get(place, NO_NAMES).values():
            ids.setdefault(facts.resources[child].type, []).append(child)
            if facts.children.get(child):
                inner.append(child)
        return ChildGroups({type: SiblingGroup(place, tuple(found)) for type, found in ids.items()}, tuple(inner))
