"""The assignments on one resource by subject, with a hash that a change updates and does not compute again."""

import hashlib
import json
from collections.abc import ItemsView, Iterator, Mapping
from itertools import starmap
from typing import cast

from immutables import Map
from typing_extensions import override

from headgate.facts.ids import ResourceId, SubjectId

Key = tuple[str, ResourceId, str]
"""The key of an assignment among those of one subject: role, resource and reason."""

Keys = tuple[Key, ...]
"""The keys of one subject's assignments on one resource, sorted."""


class AssignedSubjects(Mapping[SubjectId, Keys]):
    """The subjects of the assignments on one resource, each with its keys. Never changed: `with_keys` returns the next one.

    A resource may have thousands of subjects, and a write changes the assignments of one.
    """

    __slots__ = ("_hash_sum", "_keys")

    def __init__(self, keys: Map[SubjectId, Keys], hash_sum: int | None = None) -> None:
        """`hash_sum` is None if it is not known yet."""
        self._keys = keys
        self._hash_sum = hash_sum

    def keys_of(self, subject: SubjectId) -> Keys:
        """Return the keys of a subject's assignments on the resource; empty if it has none."""
        return self._keys.get(subject, ())

    def with_keys(self, subject: SubjectId, keys: Keys) -> "AssignedSubjects":
        """Return the same with these keys of a subject; without the subject if there are none."""
        after = self._keys.set(subject, keys) if keys else self._keys.delete(subject)
        if self._hash_sum is None:
            return AssignedSubjects(after)
        return AssignedSubjects(after, self._hash_sum - _hash(subject, self.keys_of(subject)) + _hash(subject, keys))

    @property
    def hash_sum(self) -> int:
        """The sum of the hashes of all assignments, which does not depend on their order."""
        if self._hash_sum is None:
            self._hash_sum = sum(starmap(_hash, self._keys.items()))
        return self._hash_sum

    @override
    def __getitem__(self, subject: SubjectId) -> Keys:
        return self._keys[subject]

    @override
    def __iter__(self) -> Iterator[SubjectId]:
        return iter(self._keys)

    @override
    def __len__(self) -> int:
        return len(self._keys)

    @override
    def __contains__(self, subject: object) -> bool:
        return subject in self._keys

    @override
    def items(self) -> ItemsView[SubjectId, Keys]:
        # The view of `Mapping` would take several times as long.
        return cast("ItemsView[SubjectId, Keys]", self._keys.items())


def _hash(subject: SubjectId, keys: Keys) -> int:
    return int.from_bytes(hashlib.sha256(json.dumps((subject, keys)).encode()).digest()) if keys else 0
