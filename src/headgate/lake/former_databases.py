"""Former databases of an organization: their ids name its folders in the layout of an earlier version.

That version stored the tables of all organizations in one folder.
"""

from functools import cached_property

from headgate.control.kernel.ports import Store
from headgate.facts.changes import ResourceCreated
from headgate.facts.ids import ResourceId


class FormerDatabases:
    """The ids of all databases that the organization ever created; a table's folder keeps the id of its first database."""

    def __init__(self, store: Store) -> None:
        """`store` is the organization's store. Its log is read once, at the first use."""
        self._store = store

    def __contains__(self, id: object) -> bool:
        """Whether the organization has, or had, a database with this id. Raises `StoreError`."""
        return id in self._ids

    @cached_property
    def _ids(self) -> frozenset[ResourceId]:
        # Read once is enough: an earlier version created the folders, so a database of a later entry has none.
        changes = (change for entry in self._store.entries() for change in entry.changes)
        made = (change for change in changes if isinstance(change, ResourceCreated))
        return frozenset(change.resource for change in made if change.type == "database")
