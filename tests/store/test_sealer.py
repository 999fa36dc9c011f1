"""Seals on a database that was altered without the key: the sealer signs only entries that it has verified."""

import logging
import shutil
import stat
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from headgate.control.kernel.ports import StoreError
from headgate.store import SqlStores, open_stores, seals
from headgate.store.rollback_protection import HighWaterMarks
from headgate.store.seal_keys import KnownKeys, public_file, rotate_private_key
from headgate.store.verification import VerificationResult
from tests.store.samples import OTHER, ROOT, created
from tests.store.tampered_store import rehash, run


@pytest.fixture
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of a key, outside the store."""
    return tmp_path_factory.mktemp("keys") / "log.pem"


@pytest.fixture
def marks(key: Path) -> HighWaterMarks:
    return HighWaterMarks.locate_beside(key)


@pytest.fixture(autouse=True)
def left(lasting: str | Path, key: Path, monkeypatch: pytest.MonkeyPatch) -> str | Path:
    """A store with a log of four entries, sealed when its server stopped; every third entry has a seal."""
    monkeypatch.setattr(seals, "ENTRIES_PER_SEAL", 3)
    with closing(open_stores(lasting, key)) as stores:
        _append(stores, 4)
    return lasting


@pytest.fixture
def started(left: str | Path, key: Path) -> Iterator[SqlStores]:
    """A server that was started on that store."""
    with closing(open_stores(left, key)) as stores:
        yield stores


def _append(stores: SqlStores, many: int) -> None:
    store = stores.log(ROOT)
    for _ in range(many):
        head = store.head()
        store.append(head, replace(created(head.revision + 1), pointers=()))


def _sealed(where: str | Path) -> list[int]:
    return [row[0] for row in run(where, "SELECT revision FROM seals ORDER BY revision")]


ALTER = "UPDATE log SET command = 'forged' WHERE revision = 2"
CUT = "DELETE FROM log WHERE revision > 3"
UNSEAL = "DELETE FROM seals"


def _forge(where: str | Path, *statements: str) -> None:
    """Replace the history by another one with valid hashes."""
    run(where, *statements)
    rehash(where, ROOT)


FORGERIES = {
    "an altered entry": (ALTER, UNSEAL),
    "an altered entry under a seal": (ALTER,),
    "a cut tail": (CUT, f"{UNSEAL} WHERE revision > 3"),
    "a cut tail without seals": (CUT, UNSEAL),
    "no entries": ("DELETE FROM log", UNSEAL),
}


class TestALogThatWasForged:
    @pytest.fixture(autouse=True, params=list(FORGERIES.values()), ids=list(FORGERIES))
    def forged(self, left: str | Path, request: pytest.FixtureRequest) -> list[int]:
        """The revisions whose seals are still there."""
        _forge(left, *request.param)
        return _sealed(left)

    def test_a_forged_log_is_not_sealed_when_the_server_ends(
        self, left: str | Path, key: Path, forged: list[int], caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.ERROR):
            for _ in range(2):
                with closing(open_stores(left, key)) as stores:
                    _append(stores, 1)

        assert _sealed(left) == forged
        assert "a log was not sealed" in caplog.text

    def test_a_forged_log_is_not_sealed_as_it_grows(
        self, left: str | Path, started: SqlStores, forged: list[int]
    ) -> None:
        _append(started, 6)

        assert _sealed(left) == forged

    def test_a_forged_log_is_not_sealed_on_demand(
        self, left: str | Path, started: SqlStores, forged: list[int]
    ) -> None:
        _append(started, 1)

        with pytest.raises(StoreError, match="differs from the log that this deployment sealed"):
            started.seal()
        assert _sealed(left) == forged

    def test_a_forged_log_fails_verification_after_later_entries(
        self, left: str | Path, key: Path, marks: HighWaterMarks
    ) -> None:
        for _ in range(2):
            with closing(open_stores(left, key)) as stores:
                _append(stores, 1)

        with (
            closing(open_stores(left)) as stores,
            pytest.raises(
                StoreError, match=r"differs from the (log that this deployment sealed|entry that was sealed)"
            ),
        ):
            stores.verify(known=KnownKeys.read_beside(key), marks=marks)


class TestASealedStore:
    def test_a_sealed_store_is_not_opened_where_its_keys_are_missing(
        self, left: str | Path, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        empty = tmp_path_factory.mktemp("empty") / "log.pem"

        with pytest.raises(
            StoreError,
            match=r"are signed \(sealed\) with the key `\w+`, which is not in the folder .*; copy the key files",
        ):
            open_stores(left, empty)

        assert list(empty.parent.iterdir()) == []

    def test_a_sealed_store_is_opened_with_a_new_key_where_the_former_ones_are_known(
        self, left: str | Path, key: Path
    ) -> None:
        key.unlink()

        with closing(open_stores(left, key)) as stores:
            assert stores.verify(known=KnownKeys.read_beside(key)) == [VerificationResult(ROOT, 4, 4)]

    def test_a_sealed_store_is_opened_with_a_key_that_the_operator_made(
        self, left: str | Path, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        new = tmp_path_factory.mktemp("new") / "log.pem"
        rotate_private_key(new)

        open_stores(left, new).close()

        assert _sealed(left) == [3, 4]


class TestALog:
    def test_a_log_with_a_broken_chain_is_not_sealed(self, left: str | Path, key: Path) -> None:
        with closing(open_stores(left, key)) as stores:
            _append(stores, 4)
            run(left, "UPDATE log SET command = 'forged' WHERE revision = 7")
            _append(stores, 1)
            assert _sealed(left) == [3, 4, 6]

        assert _sealed(left) == [3, 4, 6]

    def test_a_log_is_sealed_from_an_earlier_seal_beside_one_of_an_unknown_key(
        self, left: str | Path, key: Path, marks: HighWaterMarks
    ) -> None:
        run(left, f"INSERT INTO seals VALUES ('{ROOT}', 9, 'unknown', 0.0, 'hash', 'ab')")
        with closing(open_stores(left, key)) as stores:
            _append(stores, 2)

        assert _sealed(left) == [3, 4, 6, 9]
        assert marks.read()[ROOT].revision == 6

    def test_several_servers_with_one_key_seal_a_log(
        self, left: str | Path, key: Path, marks: HighWaterMarks, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        other = tmp_path_factory.mktemp("replica") / "log.pem"
        shutil.copy(key, other)
        shutil.copy(public_file(key), public_file(other))
        for number in range(3):
            with closing(open_stores(left, (other, key)[number % 2])) as stores:
                _append(stores, 1)

        with closing(open_stores(left)) as stores:
            for each in (marks, HighWaterMarks.locate_beside(other)):
                assert stores.verify(known=KnownKeys.read_beside(key), marks=each) == [VerificationResult(ROOT, 7, 7)]
        assert (marks.read()[ROOT].revision, HighWaterMarks.locate_beside(other).read()[ROOT].revision) == (6, 7)

    def test_a_log_is_not_sealed_above_a_mark_that_cannot_be_written(
        self, left: str | Path, key: Path, marks: HighWaterMarks, caplog: pytest.LogCaptureFixture
    ) -> None:
        lock = marks.file.with_suffix(".lock")
        lock.unlink()
        lock.mkdir()
        with caplog.at_level(logging.ERROR), closing(open_stores(left, key)) as stores:
            _append(stores, 3)

        assert _sealed(left) == [3, 4]
        assert "give the user of this process write access to its folder" in caplog.text

    def test_a_log_that_was_restored_on_purpose_is_sealed_once_it_is_accepted(
        self, left: str | Path, key: Path, marks: HighWaterMarks
    ) -> None:
        run(left, CUT, f"{UNSEAL} WHERE revision > 3")
        with closing(open_stores(left)) as stores:
            stores.accept(marks, KnownKeys.read_beside(key))
            assert stores.verify(known=KnownKeys.read_beside(key), marks=marks) == [VerificationResult(ROOT, 3, 3)]

        with closing(open_stores(left, key)) as stores:
            _append(stores, 2)

        assert _sealed(left) == [3, 5]


class TestAMark:
    def test_a_mark_is_that_of_the_newest_seal(self, left: str | Path, key: Path, marks: HighWaterMarks) -> None:
        assert marks.read()[ROOT].revision == 4
        assert stat.S_IMODE(marks.file.stat().st_mode) == 0o600

        with closing(open_stores(left, key)) as stores:
            _append(stores, 2)
            assert marks.read()[ROOT].revision == 6

    def test_a_missing_mark_is_taken_from_the_newest_seal(
        self, left: str | Path, key: Path, marks: HighWaterMarks
    ) -> None:
        marks.file.unlink()

        open_stores(left, key).close()

        assert marks.read()[ROOT].revision == 4

    def test_a_mark_never_goes_backward(self, marks: HighWaterMarks) -> None:
        newest = marks.read()[ROOT]
        other = replace(newest, log=OTHER, revision=1)

        marks.advance([replace(newest, revision=3), replace(newest, hash="another"), other])

        assert marks.read() == {ROOT: newest, OTHER: other}

    def test_an_unreadable_mark_is_an_error_and_no_log_is_sealed(
        self, left: str | Path, key: Path, marks: HighWaterMarks
    ) -> None:
        marks.file.write_text("nothing of the kind")
        with closing(open_stores(left, key)) as stores:
            _append(stores, 3)
            with pytest.raises(StoreError, match="restore the file from a backup, or, if you trust the logs"):
                stores.seal()

        assert _sealed(left) == [3, 4]
