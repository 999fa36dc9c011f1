"""Replay of a log: the state of an organization after each entry."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

from headgate.facts.changes import Change
from headgate.facts.fold import apply, fold
from headgate.facts.snapshot import Snapshot


class HistoryEntry(Protocol):
    """One accepted command: its revision, the time when it was written (seconds since the epoch), and its changes."""

    @property
    def revision(self) -> int:
        """The revision after the entry."""
        ...

    @property
    def at(self) -> float:
        """The time when the entry was written."""
        ...

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes of the entry."""
        ...


@dataclass(frozen=True, slots=True)
class State:
    """The facts at a revision, and the time when it was written (None: unknown)."""

    facts: Snapshot = field(default_factory=Snapshot)
    at: float | None = None

    def next_revision(self, revision: int, at: float | None) -> "State":
        """Return the state at the next revision, before its changes."""
        return replace(self, facts=fold(self.facts, (), revision), at=at)

    def apply_change(self, change: Change) -> "State":
        """Return the state after a change. Raises `KeyError` if it refers to something that does not exist."""
        return State(apply(self.facts, change), self.at)


def replay_history(entries: Iterable[HistoryEntry]) -> Iterator[State]:
    """Yield the state after each entry of a log, oldest first."""
    state = State()
    for entry in entries:
        state = state.next_revision(entry.revision, entry.at)
        for change in entry.changes:
            state = state.apply_change(change)
        yield state
