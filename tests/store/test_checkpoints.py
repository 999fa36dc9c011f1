"""Checkpoints in a tampered database: only checkpoints that the server signed for the current log are used."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.control.kernel.ports import Checkpoint, Head, StoreError
from headgate.facts import checkpoint
from headgate.facts.changes import OrganizationCreated, PrincipalAdded
from headgate.facts.fold import fold
from headgate.facts.snapshot import Snapshot
from headgate.store import SqlStore, SqlStores, open_stores
from headgate.store.backup import back_up, restore
from headgate.store.seal_keys import rotate_private_key
from tests.facts.samples import ANNA, BEN
from tests.store.samples import OTHER, ROOT, drafted
from tests.store.tampered_store import run

HISTORY = (OrganizationCreated(ROOT, "nekt", "hash"), PrincipalAdded(ANNA, "user"), PrincipalAdded(BEN, "user"))


@pytest.fixture
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of a key, outside the store."""
    return tmp_path_factory.mktemp("keys") / "log.pem"


@pytest.fixture
def signing(lasting: str | Path, key: Path) -> Iterator[SqlStores]:
    """A store with a key, and a log that has a history."""
    opened = open_stores(lasting, key)
    log = opened.log(ROOT)
    for change in HISTORY:
        log.append(log.head(), drafted(change))
    yield opened
    opened.close()


@pytest.fixture
def store(signing: SqlStores) -> SqlStore:
    return signing.log(ROOT)


def _facts(revision: int) -> Snapshot:
    snapshot = Snapshot()
    for number, change in enumerate(HISTORY[:revision], start=1):
        snapshot = fold(snapshot, (change,), number)
    return snapshot


def _kept(revision: int) -> Checkpoint:
    return Checkpoint(revision, 0.0, checkpoint.dump_checkpoint(_facts(revision)))


FORGED = checkpoint.dump_checkpoint(_facts(2)).hex()
"""The facts of revision 2, which an attacker puts in place of those of revision 3."""


def _forge(where: str | Path, content: str = FORGED, revision: int = 3) -> None:
    """Insert a checkpoint that the server did not write."""
    blob = f"'\\x{content}'" if isinstance(where, str) else f"x'{content}'"
    run(where, f"INSERT INTO checkpoints VALUES ('{ROOT}', {revision}, 0.0, {blob})")


class TestACheckpoint:
    def test_a_checkpoint_is_found_after_a_restart(self, signing: SqlStores, lasting: str | Path, key: Path) -> None:
        signing.log(ROOT).put_checkpoint(_kept(2))
        signing.close()

        again = open_stores(lasting, key)

        assert again.log(ROOT).checkpoint() == _kept(2)
        again.close()

    def test_a_checkpoint_that_the_server_did_not_sign_is_ignored_with_a_warning(
        self, store: SqlStore, lasting: str | Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        store.put_checkpoint(_kept(2))
        _forge(lasting)

        with caplog.at_level(logging.WARNING):
            assert store.checkpoint() == _kept(2)
        assert "ignoring the checkpoint of revision 3 of the log `organization`" in caplog.text

    @pytest.mark.parametrize("change", ["revision = 3", "at = 9.0", f"log_id = '{OTHER}'"])
    def test_a_checkpoint_that_was_moved_in_the_database_is_ignored(
        self, signing: SqlStores, lasting: str | Path, change: str
    ) -> None:
        signing.log(ROOT).put_checkpoint(_kept(2))
        run(lasting, f"UPDATE checkpoints SET {change}")

        assert [signing.log(root).checkpoint() for root in (ROOT, OTHER)] == [None, None]

    def test_a_checkpoint_with_altered_facts_is_ignored(self, store: SqlStore, lasting: str | Path) -> None:
        store.put_checkpoint(_kept(3))
        found: bytes = bytes(run(lasting, "SELECT content FROM checkpoints")[0][0])
        run(lasting, "DELETE FROM checkpoints")
        _forge(lasting, found.hex().removesuffix(_kept(3).content.hex()) + FORGED)

        assert store.checkpoint() is None

    def test_a_checkpoint_of_a_rewritten_entry_is_ignored(self, store: SqlStore, lasting: str | Path) -> None:
        store.put_checkpoint(_kept(2))
        run(lasting, "UPDATE log SET hash = 'another' WHERE revision = 2")

        assert store.checkpoint() is None

    def test_a_checkpoint_of_an_entry_that_was_cut_off_is_ignored(self, store: SqlStore, lasting: str | Path) -> None:
        store.put_checkpoint(_kept(2))
        run(lasting, "DELETE FROM log WHERE revision > 1")

        assert store.checkpoint() is None

    def test_a_checkpoint_is_ignored_under_another_key(
        self, signing: SqlStores, lasting: str | Path, key: Path
    ) -> None:
        signing.log(ROOT).put_checkpoint(_kept(2))
        rotate_private_key(key)

        for again in (open_stores(lasting, key), open_stores(lasting)):
            assert again.log(ROOT).checkpoint() is None
            again.close()

    def test_a_signed_checkpoint_replaces_those_that_the_server_did_not_sign(
        self, store: SqlStore, lasting: str | Path
    ) -> None:
        for revision in (2, 3, 100, 200, 300):
            _forge(lasting, revision=revision)

        store.put_checkpoint(_kept(3))

        assert run(lasting, "SELECT revision FROM checkpoints") == [(3,)]
        assert store.checkpoint() == _kept(3)


class TestVerifying:
    @pytest.mark.parametrize("revision", [3, 4])
    def test_verification_finds_a_checkpoint_that_differs_from_the_log(
        self, store: SqlStore, lasting: str | Path, revision: int
    ) -> None:
        _forge(lasting, revision=revision)

        with pytest.raises(StoreError, match=f"the checkpoint of revision {revision} of the log .* was altered"):
            store.verify()

    def test_verification_accepts_a_checkpoint_that_agrees_with_the_log(
        self, store: SqlStore, lasting: str | Path
    ) -> None:
        _forge(lasting, revision=2)
        store.verify()
        store.put_checkpoint(_kept(3))

        assert store.verify().head == 3

    def test_verification_skips_a_checkpoint_of_another_version(self, store: SqlStore, lasting: str | Path) -> None:
        _forge(lasting, FORGED[:16] + "ffff" + FORGED[20:])

        assert store.verify().head == 3


def test_a_restored_copy_has_no_checkpoints(tmp_path: Path, key: Path) -> None:
    stores = open_stores(tmp_path / "data", key)
    stores.log(ROOT).append(Head(), drafted(HISTORY[0]))
    stores.log(ROOT).put_checkpoint(_kept(1))
    stores.close()
    _forge(tmp_path / "data", revision=2)
    back_up(tmp_path / "data", tmp_path / "copy")

    restore(tmp_path / "copy", tmp_path / "again", None)

    assert run(tmp_path / "again", "SELECT * FROM checkpoints") == []
