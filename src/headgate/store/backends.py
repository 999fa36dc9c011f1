"""What is said of one kind of database: an engine on it, and everything in which it differs from the other."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, TextClause


def _cannot_tell() -> bool:
    return True


def _do_nothing(*_: Any) -> None:
    """Neither is needed where there is one process only."""


@dataclass(frozen=True, slots=True)
class DatabaseBackend:
    """One database, ready to be connected to."""

    engine: Engine
    shared: bool
    """Whether other processes write here too."""
    insert: Callable[..., Any]
    """`INSERT` that can say what happens on a conflict."""
    read: Mapping[str, Any]
    """The options of a connection that reads."""
    write: Mapping[str, Any]
    """The options of a connection that writes."""
    past: Mapping[str, Any]
    """The options of a connection that reads one state for as long as it is open."""
    hooks: TextClause
    """Selects the names of triggers, rules and views in the database's schema: what would change rows by itself."""
    turn: Callable[[], AbstractContextManager[Any]] = nullcontext
    """Where all share one connection: whose turn it is."""
    moved: Callable[[], bool] = _cannot_tell
    """Say whether another process may have written since this was asked last."""
    announce: Callable[[Connection, str, int], None] = _do_nothing
    """Tell other processes of a log's new revision, once it is written."""
    alone: Callable[[Connection], None] = _do_nothing
    """Make this connection the only one that migrates, for as long as it takes."""
    settle: Callable[[Engine], None] = _do_nothing
    """Take what was erased out of every file, as far as nobody reads it just now."""
