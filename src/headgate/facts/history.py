"""Replay of a log: the state of an organization after each entry."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from headgate.facts.changes import Change, GovernedBy, OrganizationCreated
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
    """The facts at a revision, the time when it was written (None: unknown), and the hash of each model's source by its name."""

    facts: Snapshot = field(default_factory=Snapshot)
    at: float | None = None
    sources: Mapping[str, str] = field(default_factory=dict[str, str])

    def next_revision(self, revision: int, at: float | None) -> "State":
        """Return the state at the next revision, before its changes."""
        return replace(self, facts=fold(self.facts, (), revision), at=at)

    def apply_change(self, change: Change) -> "State":
        """Return the state after a change. Raises `KeyError` if it refers to something that does not exist."""
        sources = self.sources
        if isinstance(change, OrganizationCreated | GovernedBy):
            sources = {**sources, change.model: change.model_hash}
        return State(apply(self.facts, change), self.at, sources)


def replay_history(entries: Iterable[HistoryEntry]) -> Iterator[State]:
    """Yield the state after each entry of a log, oldest first."""
    state = State()
    for entry in entries:
        state = state.next_revision(entry.revision, entry.at)
        for change in entry.changes:
            state = state.apply_change(change)
        yield state
