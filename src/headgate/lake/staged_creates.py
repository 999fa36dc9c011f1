"""Staged creates: tables that were staged and not yet committed. In memory, limited per principal, and bound to it."""

import threading
from collections import OrderedDict
from dataclasses import dataclass

from headgate.facts.ids import PrincipalId, ResourceId

MOST_PER_PRINCIPAL = 64


@dataclass(frozen=True, slots=True)
class Staged:
    """A staged table: its name and database, its id and its location."""

    database: ResourceId
    name: str
    table: ResourceId
    location: str


class StagedCreates:
    """The last staged creates of each principal. Thread-safe."""

    def __init__(self) -> None:
        self._of: dict[PrincipalId, OrderedDict[ResourceId, Staged]] = {}
        self._lock = threading.Lock()

    def put(self, owner: PrincipalId, staged: Staged) -> None:
        """Store a staged create; drop the owner's oldest one if there are too many."""
        with self._lock:
            mine = self._of.setdefault(owner, OrderedDict())
            mine[staged.table] = staged
            if len(mine) > MOST_PER_PRINCIPAL:
                mine.popitem(last=False)

    def get(self, owner: PrincipalId, table: ResourceId) -> Staged | None:
        """Return the owner's staged create with this id, or None."""
        with self._lock:
            return self._of.get(owner, {}).get(table)

    def drop(self, owner: PrincipalId, table: ResourceId) -> None:
        """Remove a staged create that was committed."""
        with self._lock:
            self._of.get(owner, OrderedDict[ResourceId, Staged]()).pop(table, None)
