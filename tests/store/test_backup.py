"""Backups of an embedded store: complete even if taken during writes, and restored only where no data is lost."""

import stat
import threading
from contextlib import closing
from pathlib import Path

import pytest

from headgate.control.kernel.ports import Head, LogWrite, StoreError
from headgate.store import FILE, FolderInUseError, FolderLock, open_stores
from headgate.store.backup import back_up, restore
from headgate.store.rollback_protection import HighWaterMarks
from headgate.store.seal_keys import KnownKeys
from headgate.store.verification import VerificationResult
from tests.store.samples import OTHER, ROOT, created
from tests.store.tampered_store import run

NOTHING = LogWrite(0.0, None, "nothing", ())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with two sealed logs."""
    folder = tmp_path / "data"
    stores = open_stores(folder, folder / "keys" / "log.pem")
    for number in range(5):
        stores.log(ROOT).append(stores.log(ROOT).head(), created(number))
    stores.log(OTHER).append(Head(), NOTHING)
    stores.close()
    return folder


def _known(folder: Path) -> KnownKeys:
    return KnownKeys.read_beside(folder / "keys" / "log.pem")


def test_a_copy_holds_everything_and_is_readable_by_its_user_alone(folder: Path, tmp_path: Path) -> None:
    copy, again = tmp_path / "copy", tmp_path / "again"
    back_up(folder, copy)

    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert restore(copy, again, _known(folder)) == [VerificationResult(ROOT, 5, 5), VerificationResult(OTHER, 1, 1)]

    before, after = open_stores(folder), open_stores(again)
    for root in (ROOT, OTHER):
        assert list(after.log(root).entries()) == list(before.log(root).entries())
    assert after.log(ROOT).documents("table") == before.log(ROOT).documents("table")
    before.close()
    after.close()


def test_a_copy_that_is_made_while_it_is_written_to_is_of_one_moment(folder: Path, tmp_path: Path) -> None:
    stores = open_stores(folder)
    ended = threading.Event()

    def write() -> None:
        while not ended.is_set():
            head = stores.log(ROOT).head()
            stores.log(ROOT).append(head, created(head.revision))

    writer = threading.Thread(target=write)
    writer.start()
    before = stores.log(ROOT).head().revision
    for number in range(5):
        back_up(folder, tmp_path / f"copy{number}")
    ended.set()
    writer.join()
    after = stores.log(ROOT).head().revision
    stores.close()

    for number in range(5):
        proofs = restore(tmp_path / f"copy{number}", tmp_path / f"again{number}", _known(folder))
        assert before <= proofs[0].head <= after


def test_a_copy_that_is_put_back_moves_the_marks_to_its_seals(folder: Path, tmp_path: Path) -> None:
    copy, key = tmp_path / "copy", folder / "keys" / "log.pem"
    back_up(folder, copy)
    with closing(open_stores(folder, key)) as stores:
        log = stores.log(ROOT)
        log.append(log.head(), created(5))
    marks = HighWaterMarks.locate_beside(key)
    assert marks.read()[ROOT].revision == 6

    restore(copy, tmp_path / "again", _known(folder), marks)

    assert marks.read()[ROOT].revision == 5
    with closing(open_stores(tmp_path / "again")) as stores:
        assert stores.verify(known=_known(folder), marks=marks)[0] == VerificationResult(ROOT, 5, 5)


def test_a_backup_overwrites_no_file(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.write_text("something dear")

    with pytest.raises(StoreError, match="exists already; name a new file"):
        back_up(folder, copy)

    assert copy.read_text() == "something dear"


def test_a_restore_replaces_no_existing_store(folder: Path, tmp_path: Path) -> None:
    back_up(folder, tmp_path / "copy")

    with pytest.raises(StoreError, match="the data folder has a store already"):
        restore(tmp_path / "copy", folder, _known(folder))


@pytest.mark.parametrize("left", [f"{FILE}-wal", f"{FILE}-shm"])
def test_a_restore_beside_files_that_another_store_left_is_refused(folder: Path, tmp_path: Path, left: str) -> None:
    back_up(folder, tmp_path / "copy")
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / left).touch()

    with pytest.raises(StoreError, match=f"{left}`\\); move that file away first"):
        restore(tmp_path / "copy", tmp_path / "again", _known(folder))


def test_a_restore_into_a_folder_in_use_is_refused(folder: Path, tmp_path: Path) -> None:
    back_up(folder, tmp_path / "copy")

    with FolderLock.take(tmp_path / "again"), pytest.raises(FolderInUseError):
        restore(tmp_path / "copy", tmp_path / "again", _known(folder))


def test_a_copy_that_does_not_prove_to_be_whole_is_not_put_back(folder: Path, tmp_path: Path) -> None:
    run(folder, "DELETE FROM log WHERE revision > 3")
    back_up(folder, tmp_path / "copy")

    with pytest.raises(
        StoreError, match="end of the log `organization` was deleted: it ends at revision 3, but a seal"
    ):
        restore(tmp_path / "copy", tmp_path / "again", _known(folder))

    assert sorted(each.name for each in (tmp_path / "again").iterdir()) == ["lock"]


def test_a_file_that_is_no_copy_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "copy").write_bytes(b"something else entirely" * 100)

    for copy in (tmp_path / "copy", tmp_path / "missing"):
        with pytest.raises(StoreError):
            restore(copy, tmp_path / "again", _known(folder))


def test_a_folder_without_a_store_is_not_copied(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be copied"):
        back_up(tmp_path, tmp_path / "copy")

    assert list(tmp_path.iterdir()) == []
