"""A copy of an embedded store, made while it is served, and putting it back."""

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
    """Copy the store of a data folder, as it is now, to a new file. Raises `StoreError` if either cannot be used."""
    if file.exists():
        raise StoreError(f"`{file}` is there already; name a new file")
    half = file.with_name(f"{file.name}.{os.getpid()}.half")
    try:
        half.touch(mode=0o600)
        with closing(_read_only(folder / FILE)) as store, closing(sqlite3.connect(half)) as copy:
            store.backup(copy)
            _check(copy)
        half.rename(file)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"no copy can be made of `{folder / FILE}` ({error}); check the disk") from error
    finally:
        half.unlink(missing_ok=True)


def restore(
    file: Path, folder: Path, known: KnownKeys | None, marks: HighWaterMarks | None = None
) -> list[VerificationResult]:
    """Make a copy the store of a data folder that has none, if every log in it proves to be whole.

    The copy is accepted as it is: its newest seals by known keys take the place of the marks. It has no checkpoints.
    Raises `StoreError` if it does not, if the folder has a store, or if somebody serves from it; then nothing is changed.
    """
    if not file.is_file():
        raise StoreError(f"there is no file `{file}`")
    with FolderLock.take(folder):
        there = [each for each in (FILE, f"{FILE}-wal", f"{FILE}-shm") if (folder / each).exists()]
        if there:
            raise StoreError(f"`{folder / there[0]}` is there already; move it away first")
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
