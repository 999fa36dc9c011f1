"""The backend of a store, SQLite or PostgreSQL: its engine, and everything in which the two differ."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, TextClause

from headgate.control.kernel.stores import NumberedEntry


def _cannot_tell() -> bool:
    return True


def _number_no_entry() -> None:
    """Return None: the backend does not number the entries."""


def _do_nothing(*_: Any) -> None:
    """Do nothing: a backend that one process alone uses needs neither announcements nor a migration lock."""


@dataclass(frozen=True, slots=True)
class DatabaseBackend:
    """One database, ready for connections."""

    engine: Engine
    shared: bool
    """Whether other processes write to the database too."""
    insert: Callable[..., Any]
    """The dialect's `INSERT`, which supports `ON CONFLICT`."""
    read: Mapping[str, Any]
    """The options of a connection that reads."""
    write: Mapping[str, Any]
    """The options of a connection that writes."""
    past: Mapping[str, Any]
    """The options of a connection that sees one snapshot of the database until it is closed."""
    hooks: TextClause
    """Selects the names of triggers, rules and views in the database's schema, which could change rows by themselves."""
    turn: Callable[[], AbstractContextManager[Any]] = nullcontext
    """The lock of the connection, for a backend whose threads all share one connection."""
    moved: Callable[[], bool] = _cannot_tell
    """Whether another process may have written since the last call."""
    newest: Callable[[], NumberedEntry | None] = _number_no_entry
    """The newest entry of all logs with its number, or None."""
    announce: Callable[[Connection, str, int], None] = _do_nothing
    """Notify other processes of a log's new revision when the transaction commits."""
    alone: Callable[[Connection], None] = _do_nothing
    """Acquire the migration lock: no other connection migrates until this transaction ends."""
    settle: Callable[[Engine], None] = _do_nothing
    """Remove erased rows from every file of the database, except pages that a reader still uses."""
