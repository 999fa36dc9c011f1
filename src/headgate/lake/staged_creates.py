"""Creates that were announced and not committed: in memory, bounded, and bound to who announced them."""

import threading
from collections import OrderedDict
from dataclasses import dataclass

from headgate.facts.ids import PrincipalId, ResourceId

MOST_PER_PRINCIPAL = 64


@dataclass(frozen=True, slots=True)
class Staged:
    """A table that may come to be: under this name in this database, with this id and location."""

    database: ResourceId
    name: str
    table: ResourceId
    location: str


class StagedCreates:
    """The last creates that each principal announced. Safe to use from several threads."""

    def __init__(self) -> None:
        self._of: dict[PrincipalId, OrderedDict[ResourceId, Staged]] = {}
        self._lock = threading.Lock()

    def put(self, owner: PrincipalId, staged: Staged) -> None:
        """Remember a create; the owner's oldest goes if there are too many."""
        with self._lock:
            mine = self._of.setdefault(owner, OrderedDict())
            mine[staged.table] = staged
            if len(mine) > MOST_PER_PRINCIPAL:
                mine.popitem(last=False)

    def get(self, owner: PrincipalId, table: ResourceId) -> Staged | None:
        """Return what the owner announced under this id, or None."""
        with self._lock:
            return self._of.get(owner, {}).get(table)

    def drop(self, owner: PrincipalId, table: ResourceId) -> None:
        """Forget a create that has happened."""
        with self._lock:
            self._of.get(owner, OrderedDict[ResourceId, Staged]()).pop(table, None)
