"""The choice of the checkpoint from which a log is read: never one that no entry of the log confirms."""

from headgate.control.kernel.ports import Checkpoint
from headgate.control.kernel.replay import replay
from headgate.facts import checkpoint
from tests.fakes.small_organization import MEMBER, OTHER, RAW, assigned, controlled, snapshot
from tests.fakes.store import FakeStore


def _kept(store: FakeStore, revision: int, at: float) -> None:
    """Store a checkpoint with facts that no entry gives."""
    store.put_checkpoint(Checkpoint(revision, at, checkpoint.dump_checkpoint(snapshot(assigned(MEMBER, "owner", RAW)))))


def test_a_checkpoint_of_an_entry_replaces_reading_the_entries_before_it() -> None:
    _, store = controlled()
    _kept(store, 1, store.log[0].at)
    store.write(assigned(OTHER, "viewer", RAW))

    found = replay(store)

    assert (found.kept, found.head) == (1, store.head())
    assert found.facts.assignments[MEMBER]


def test_a_checkpoint_above_the_newest_entry_is_not_read() -> None:
    control, store = controlled()
    _kept(store, 2, 0.0)

    assert (replay(store).facts, replay(store).kept) == (control.snapshot, 0)


def test_the_checkpoint_of_an_entry_that_was_lost_and_replaced_is_not_read() -> None:
    control, store = controlled()
    _kept(store, 1, store.log[0].at + 1.0)

    assert (replay(store).facts, replay(store).kept) == (control.snapshot, 0)
