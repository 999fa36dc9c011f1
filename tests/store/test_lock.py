"""The lock of a data folder: one process at a time uses it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headgate.control.kernel.ports import StoreError
from headgate.store import FolderInUseError, FolderLock

HOLD = """
import sys
from pathlib import Path
from headgate.store import FolderLock
lock = FolderLock.take(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_holder_is_refused_with_the_process_id(tmp_path: Path) -> None:
    with FolderLock.take(tmp_path), pytest.raises(FolderInUseError, match=f"process {os.getpid()};"):
        FolderLock.take(tmp_path)


def test_a_closed_lock_can_be_taken_again(tmp_path: Path) -> None:
    FolderLock.take(tmp_path).close()
    FolderLock.take(tmp_path).close()


def test_the_lock_dies_with_its_process(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(FolderInUseError, match=f"process {holder.pid};"):
            FolderLock.take(tmp_path)
        holder.kill()

    FolderLock.take(tmp_path).close()


def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(StoreError, match="cannot be written"):
        FolderLock.take(tmp_path / "file")
