"""Bounded cache of computed values; a copy without invalid keys is cheap."""

from collections.abc import Iterable
from typing import Generic, TypeVar

from immutables import Map

K = TypeVar("K")
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """Values by key; when there are more than `most`, the cache is emptied.

    Another cache can begin with the values of this one, at a cost that does not depend on their number, because the map
    is persistent. A value added to one of the two later is not in the other. `near` is a plain dict of the values in use,
    for fast access.
    """

    __slots__ = ("_kept", "_most", "near")

    def __init__(self, most: int, kept: Map[K, V] | None = None) -> None:
        self._most = most
        self._kept = Map[K, V]() if kept is None else kept
        self.near: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """Return the value of the key, or None."""
        found = self.near.get(key)
        if found is None:
            found = self._kept.get(key)
            if found is not None:
                self._hand(key, found)
        return found

    def put(self, key: K, value: V) -> V:
        """Store the value, and return it."""
        kept = self._kept if len(self._kept) < self._most else Map[K, V]()
        self._kept = kept.set(key, value)
        self._hand(key, value)
        return value

    def without(self, gone: Iterable[K]) -> "BoundedCache[K, V]":
        """Return another cache that begins with the values of this one, except those of the keys in `gone`."""
        rest = self._kept
        for key in gone:
            if key in rest:
                rest = rest.delete(key)
        return BoundedCache(self._most, rest)

    def _hand(self, key: K, value: V) -> None:
        if len(self.near) >= self._most:
            self.near.clear()
        self.near[key] = value
