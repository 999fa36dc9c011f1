"""The databases that name an organization's folders where an earlier version kept the tables of all organizations."""

from functools import cached_property

from headgate.control.kernel.ports import Store
from headgate.facts.changes import ResourceCreated
from headgate.facts.ids import ResourceId


class FormerDatabases:
    """Ids of all databases that the organization's log ever created; a table's folder keeps the id of its first database."""

    def __init__(self, store: Store) -> None:
        """`store` is that of the organization. Its log is read once, when this is first asked for."""
        self._store = store

    def __contains__(self, id: object) -> bool:
        """Return whether the organization has, or had, a database of this id. Raises `StoreError`."""
        return id in self._ids

    @cached_property
    def _ids(self) -> frozenset[ResourceId]:
        # The folders are those of an earlier version, so no database of a later entry has one.
        changes = (change for entry in self._store.entries() for change in entry.changes)
        made = (change for change in changes if isinstance(change, ResourceCreated))
        return frozenset(change.resource for change in made if change.type == "database")
