"""Copies of open files: every byte and none more, while the disk has room."""

import os
from pathlib import Path

import pytest

from headgate.pipelines import disk_space, file_copies
from headgate.pipelines.file_copies import Look, copy_bytes
from headgate.pipelines.loading.errors import EndedError, LoadError

PIECE = 1_000_000


def copied(folder: Path, *, most: int, look: Look | None = None) -> int:
    """Copy the file `a` of the folder into `b`."""
    with (folder / "a").open("rb") as source, (folder / "b").open("wb") as goal:
        return copy_bytes(source.fileno(), goal.fileno(), lambda: False, most=most, look=look)


@pytest.mark.parametrize("way", ["in the kernel", "by hand", "looked at"])
@pytest.mark.parametrize("size", [0, 1, PIECE, 3 * PIECE])
def test_all_bytes_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, size: int) -> None:
    content, seen = os.urandom(size), list[bytes]()
    (tmp_path / "a").write_bytes(content)
    monkeypatch.setattr(file_copies, "PIECE", PIECE)
    if way == "by hand":
        monkeypatch.delattr(os, "copy_file_range")

    assert copied(tmp_path, most=size, look=seen.append if way == "looked at" else None) == size

    assert (tmp_path / "b").read_bytes() == content
    assert b"".join(seen) == (content if way == "looked at" else b"")


@pytest.mark.parametrize(("size", "most"), [(5, 4), (4, 5), (1 << 40, PIECE), (1, 0)])
def test_a_file_with_another_size_than_it_had_is_no_copy(tmp_path: Path, size: int, most: int) -> None:
    with (tmp_path / "a").open("wb") as file:
        file.truncate(size)

    with pytest.raises(LoadError, match="changed while it was read"):
        copied(tmp_path, most=most)

    assert (tmp_path / "b").stat().st_size <= most + 1


def test_what_a_look_raises_ends_the_copy_before_the_piece_is_written(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")

    def refuse(_: bytes) -> None:
        raise LoadError("refused")

    with pytest.raises(LoadError, match="refused"):
        copied(tmp_path, most=1, look=refuse)

    assert (tmp_path / "b").read_bytes() == b""


def test_a_copy_ends_with_its_run(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")

    with (tmp_path / "a").open("rb") as source, (tmp_path / "b").open("wb") as goal, pytest.raises(EndedError):
        copy_bytes(source.fileno(), goal.fileno(), lambda: True, most=1)


def test_a_disk_that_fills_meanwhile_ends_the_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(bytes(3 * PIECE))
    monkeypatch.setattr(file_copies, "PIECE", PIECE)

    def fill(_: bytes) -> None:
        monkeypatch.setattr(disk_space, "_LEFT_FREE", 1 << 62)

    with pytest.raises(LoadError, match="the disk has no room"):
        copied(tmp_path, most=3 * PIECE, look=fill)

    assert (tmp_path / "b").stat().st_size == PIECE
