"""The one log of a data folder, for what does not know of several yet."""

from pathlib import Path
from typing import Self

from headgate.facts.ids import ResourceId
from headgate.store import sqlite
from headgate.store.database import Database
from headgate.store.log import SqlStore


class SqliteStore(SqlStore):
    """The log `organization` of a data folder."""

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Create or open the store of a data folder. Raises `StoreError` if it cannot be used."""
        return cls(Database(sqlite.in_folder(folder)), ResourceId("organization"))

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()
