"""Copies of open files: complete, not longer than the size at the start, and bounded by the free disk space."""

import os
from pathlib import Path

import pytest

from headgate.pipelines.files import byte_copy, disk_space
from headgate.pipelines.files.byte_copy import copy_bytes
from headgate.pipelines.load_errors import EndedError, LoadError

PIECE = 1_000_000


def copied(folder: Path, *, most: int) -> int:
    """Copy the file `a` of the folder into `b`."""
    with (folder / "a").open("rb") as source, (folder / "b").open("wb") as goal:
        return copy_bytes(source.fileno(), goal.fileno(), lambda: False, most=most)


@pytest.mark.parametrize("way", ["in the kernel", "by hand"])
@pytest.mark.parametrize("size", [0, 1, PIECE, 3 * PIECE])
def test_all_bytes_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, size: int) -> None:
    content = os.urandom(size)
    (tmp_path / "a").write_bytes(content)
    monkeypatch.setattr(byte_copy, "PIECE", PIECE)
    if way == "by hand":
        monkeypatch.delattr(os, "copy_file_range")

    assert copied(tmp_path, most=size) == size

    assert (tmp_path / "b").read_bytes() == content


@pytest.mark.parametrize(("size", "most"), [(5, 4), (4, 5), (1 << 40, PIECE), (1, 0)])
def test_a_copy_of_a_file_that_changed_its_size_is_refused(tmp_path: Path, size: int, most: int) -> None:
    with (tmp_path / "a").open("wb") as file:
        file.truncate(size)

    with pytest.raises(LoadError, match="changed while it was copied"):
        copied(tmp_path, most=most)

    assert (tmp_path / "b").stat().st_size <= most + 1


def test_a_copy_ends_with_its_run(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")

    with (tmp_path / "a").open("rb") as source, (tmp_path / "b").open("wb") as goal, pytest.raises(EndedError):
        copy_bytes(source.fileno(), goal.fileno(), lambda: True, most=1)


def test_a_copy_ends_when_the_disk_fills_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(bytes(3 * PIECE))
    monkeypatch.setattr(byte_copy, "PIECE", PIECE)
    free, looks = disk_space.os.fstatvfs, list[int]()

    def fill(file: int) -> os.statvfs_result:
        looks.append(file)
        if len(looks) > 2:
            monkeypatch.setattr(disk_space, "_LEFT_FREE", 1 << 62)
        return free(file)

    monkeypatch.setattr(disk_space.os, "fstatvfs", fill)

    with pytest.raises(LoadError, match="disk has no space"):
        copied(tmp_path, most=3 * PIECE)

    assert (tmp_path / "b").stat().st_size == PIECE
