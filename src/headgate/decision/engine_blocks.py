"""What resources there are, by type: in blocks of those of a type that have the same parent."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from headgate.decision.engine_memo import Memo
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Names, Snapshot

_MOST = 1 << 20
"""How many places' blocks are kept. A place without anything below has none."""

_NO_NAMES = Names()


class Block(NamedTuple):
    """All resources of a type with this parent."""

    parent: ResourceId
    ids: tuple[ResourceId, ...]


Blocks = Mapping[str, tuple[Block, ...]]
"""Blocks by type."""


class Contents:
    """What lies where in a snapshot."""

    def __init__(self, facts: Snapshot, kept: Memo[ResourceId, Blocks] | None = None) -> None:
        self._facts = facts
        self._kept = kept or Memo[ResourceId, Blocks](_MOST)

    def after(self, facts: Snapshot, gone: Iterable[ResourceId]) -> "Contents":
        """Return the contents of another snapshot, in which those of all but these places stayed as they are."""
        return Contents(facts, self._kept.without(gone))

    def of_type(self, type: str) -> tuple[Block, ...]:
        """Return all resources of the type."""
        root = self._facts.organization
        if root is None:
            return ()
        itself = (Block(root, (root,)),) if self._facts.resources[root].type == type else ()
        return (*itself, *self._below(root).get(type, ()))

    def _below(self, place: ResourceId) -> Blocks:
        return self._kept.get(place) or self._kept.put(place, self._gathered(place))

    def _gathered(self, place: ResourceId) -> Blocks:
        facts, ids, blocks = self._facts, dict[str, list[ResourceId]](), dict[str, list[Block]]()
        for child in facts.children.get(place, _NO_NAMES).values():
            ids.setdefault(facts.resources[child].type, []).append(child)
            if facts.children.get(child):
                for type, found in self._below(child).items():
                    blocks.setdefault(type, []).extend(found)
        for type, found in ids.items():
            blocks.setdefault(type, []).append(Block(place, tuple(found)))
        return {type: tuple(found) for type, found in blocks.items()}
