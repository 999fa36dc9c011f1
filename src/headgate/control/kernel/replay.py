"""Log replay: reads a log entry by entry and checks that each entry follows from the one before it."""

from collections.abc import Iterator
from dataclasses import dataclass

from headgate.control.kernel.ports import Head, LogEntry, Store, UnreadableLogError
from headgate.facts import checkpoint
from headgate.facts.fold import fold
from headgate.facts.snapshot import Snapshot


class ForkError(UnreadableLogError):
    """The log does not hold the entry that was read last, or an entry does not follow from the one before it."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """The facts of a log, its newest entry, and the revision of the checkpoint at which the replay began."""

    facts: Snapshot
    head: Head
    kept: int


def entries_after(store: Store, last: Head) -> Iterator[LogEntry]:
    """Yield the entries after `last`, oldest first. Raises `ForkError` if they do not follow from it, and `StoreError`."""
    entries = store.entries(max(last.revision - 1, 0))
    known = next(entries, None) if last.revision else None
    if last.revision and (known is None or known.head != last):
        raise ForkError(
            f"revision {last.revision} of the organization's log was lost or replaced; restore a backup that has it"
        )
    for entry in entries:
        if (entry.revision, entry.previous_hash) != (last.revision + 1, last.hash):
            raise ForkError(
                f"revision {entry.revision} of the organization's log does not follow from the revision before it; restore a backup of the store"
            )
        last = entry.head
        yield entry


def replay(store: Store, at_most: int | None = None) -> Replayed:
    """Return the facts of the newest entry, or of revision `at_most`. Raises `StoreError` for a log that cannot be read."""
    facts, head = _load_checkpoint(store, store.head().revision if at_most is None else at_most)
    kept = facts.revision
    for entry in entries_after(store, head):
        if at_most is not None and entry.revision > at_most:
            break
        facts, head = fold(facts, entry.changes, entry.revision), entry.head
    return Replayed(facts, head, kept)


def _load_checkpoint(store: Store, at_most: int) -> tuple[Snapshot, Head]:
    """Return the facts of the nearest checkpoint and their entry; those of an empty log if no checkpoint is usable."""
    kept = store.checkpoint(at_most)
    entry = store.entry(kept.revision) if kept else None
    # An entry that was lost and replaced has another time: the checkpoint is of facts that do not exist any more.
    if kept is None or entry is None or entry.at != kept.at:
        return Snapshot(), Head()
    try:
        return checkpoint.load_checkpoint(kept.content), entry.head
    except checkpoint.CheckpointError:
        # The checkpoint has another format or is damaged: reading the log gives the same facts, only slower.
        return Snapshot(), Head()
