"""The logs, their documents and their catalog pointers in SQL, and the lock of a data folder."""

from headgate.store.lock import FolderInUseError, FolderLock
from headgate.store.log import SqlStore
from headgate.store.sqlite import FILE
from headgate.store.stores import SqlStores, open_stores

__all__ = ["FILE", "FolderInUseError", "FolderLock", "SqlStore", "SqlStores", "open_stores"]
