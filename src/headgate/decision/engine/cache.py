"""What is kept of what was worked out: bounded, and cheap to take over without what no longer holds."""

from collections.abc import Iterable
from typing import Generic, TypeVar

from immutables import Map

K = TypeVar("K")
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """Values by key; when there are too many it starts anew.

    Another memo can begin with what is kept here, at a cost that does not depend on how much that is: the kept map is
    persistent. What is added to one of the two later is not in the other. `near` is the fast way to what is in use.
    """

    __slots__ = ("_kept", "_most", "near")

    def __init__(self, most: int, kept: Map[K, V] | None = None) -> None:
        self._most = most
        self._kept = Map[K, V]() if kept is None else kept
        self.near: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """Return what is kept under the key, if anything is."""
        found = self.near.get(key)
        if found is None:
            found = self._kept.get(key)
            if found is not None:
                self._hand(key, found)
        return found

    def put(self, key: K, value: V) -> V:
        """Keep the value, and return it."""
        kept = self._kept if len(self._kept) < self._most else Map[K, V]()
        self._kept = kept.set(key, value)
        self._hand(key, value)
        return value

    def without(self, gone: Iterable[K]) -> "BoundedCache[K, V]":
        """Return another memo that begins with what is kept here, but for these keys."""
        rest = self._kept
        for key in gone:
            if key in rest:
                rest = rest.delete(key)
        return BoundedCache(self._most, rest)

    def _hand(self, key: K, value: V) -> None:
        if len(self.near) >= self._most:
            self.near.clear()
        self.near[key] = value
