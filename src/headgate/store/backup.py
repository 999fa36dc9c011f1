"""Backup and restore of an embedded store (SQLite). A backup can be made while the server runs."""

import os
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from headgate.control.kernel.ports import StoreError
from headgate.store.lock import FolderLock
from headgate.store.rollback_protection import HighWaterMarks
from headgate.store.seal_keys import KnownKeys
from headgate.store.sqlite import FILE
from headgate.store.stores import open_stores
from headgate.store.verification import VerificationResult


def back_up(folder: Path, file: Path) -> None:
    """Copy the store of a data folder, as it is now, to a new file. Raises `StoreError` if the store or the file is unusable."""
    if file.exists():
        raise StoreError(f"the file `{file}` exists already; name a new file for the backup")
    half = file.with_name(f"{file.name}.{os.getpid()}.half")
    try:
        half.touch(mode=0o600)
        with closing(_read_only(folder / FILE)) as store, closing(sqlite3.connect(half)) as copy:
            store.backup(copy)
            _check(copy)
        half.rename(file)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(
            f"the store `{folder / FILE}` cannot be copied ({error}); check that it exists and is readable, and that the disk "
            "of the backup has space"
        ) from error
    finally:
        half.unlink(missing_ok=True)


def restore(
    file: Path, folder: Path, known: KnownKeys | None, marks: HighWaterMarks | None = None
) -> list[VerificationResult]:
    """Restore a backup into a data folder without a store, if every log in the backup passes verification.

    The backup is accepted as the newest state: its newest seals by known keys replace the high-water marks. Its checkpoints
    are deleted. Raises `StoreError` if a log fails verification, if the folder has a store, or if another process uses the
    folder; then nothing is changed.
    """
    if not file.is_file():
        raise StoreError(
            f"the backup `{file}` does not exist or is not a file; name a file that `headgate store backup` wrote"
        )
    with FolderLock.take(folder):
        there = [each for each in (FILE, f"{FILE}-wal", f"{FILE}-shm") if (folder / each).exists()]
        if there:
            raise StoreError(f"the data folder has a store already (`{folder / there[0]}`); move that file away first")
        with tempfile.TemporaryDirectory(prefix="restoring-", dir=folder) as beside:
            copy = Path(beside) / FILE
            shutil.copyfile(file, copy)
            copy.chmod(0o600)
            stores = open_stores(Path(beside))
            try:
                stores.drop_checkpoints()
                proofs = stores.verify(known=known)
                if known is not None and marks is not None:
                    stores.accept(marks, known)
            finally:
                stores.close()
            copy.rename(folder / FILE)
    return proofs


def _read_only(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)


def _check(copy: sqlite3.Connection) -> None:
    found = copy.execute("PRAGMA quick_check").fetchone()[0]
    if found != "ok":
        raise sqlite3.DatabaseError(found)
