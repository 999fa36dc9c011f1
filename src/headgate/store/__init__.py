"""The log, the documents and the catalog pointers in SQL, and the lock of a data folder."""

from headgate.store.lock import FolderInUseError, FolderLock
from headgate.store.sqlite import SqliteStore

__all__ = ["FolderInUseError", "FolderLock", "SqliteStore"]
