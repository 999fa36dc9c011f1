"""Staleness: whether the store has entries of the open logs that this process does not know."""

from collections.abc import Mapping

from headgate.control.control import Control
from headgate.control.kernel.stores import Stores
from headgate.facts.ids import ResourceId


class StalenessCheck:
    """Compares the open logs with the store, without reading the newest entry of each if only this process has written.

    Entries are never deleted. If the store numbers them, the number of the newest one less the revisions that are known of the
    open logs is the number of the entries of all other logs, which stays the same until another process writes an entry.
    """

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._others: tuple[int, int] | None = None
        """The number of open logs, and of the entries of the other logs."""
        self.head_reads = 0
        """The number of times that the newest entry of each open log was read."""

    def is_stale(self, opened: Mapping[ResourceId, Control]) -> bool:
        """Return whether the store has an entry of these logs that is not known."""
        # In this order: an entry that this process writes in between makes the numbers differ, and hides no other entry.
        known = sum(each.head.revision for each in opened.values())
        newest = self._stores.newest_entry()
        log = opened.get(newest.log) if newest is not None else None
        if newest is None or log is None:
            return self._is_behind(opened)
        is_known = log.is_at(newest.head) and self._others == (len(opened), newest.number - known)
        return not is_known and self._is_behind(opened)

    def _is_behind(self, opened: Mapping[ResourceId, Control]) -> bool:
        """Read the newest entry of each log, and return whether one is not known."""
        self.head_reads += 1
        before = self._stores.newest_entry()
        heads = self._stores.heads(tuple(opened))
        if before is not None and before == self._stores.newest_entry():
            self._others = (len(opened), before.number - sum(each.revision for each in heads.values()))
        return any(not log.is_at(heads[root]) for root, log in opened.items())
