"""New files of a folder: those that the last listing, whose files were all loaded, does not have."""

import os
from pathlib import Path

import pytest

from headgate.pipelines.files import disk_space
from headgate.pipelines.files.folder_copy import FoundFile
from headgate.pipelines.files.listing_marks import ListingMarks
from headgate.pipelines.load_errors import LoadError

SECOND = 1_000_000_000
A, B, C = (FoundFile(name, at * SECOND) for name, at in (("a", 30), ("b", 20), ("c", 10)))


def test_files_are_new_until_their_listing_is_stored_and_are_sorted_oldest_first(tmp_path: Path) -> None:
    marks = ListingMarks(tmp_path, 0)
    assert marks.select_new([A, B], 0.0) == [B, A]
    assert marks.select_new([A, B], 0.0) == [B, A]

    marks.keep([A, B])

    assert ListingMarks(tmp_path, 0).select_new([A, B], 0.0) == []
    assert ListingMarks(tmp_path, 1).select_new([A, B], 0.0) == [B, A]


def test_a_file_with_an_older_time_than_the_last_listing_is_new(tmp_path: Path) -> None:
    ListingMarks(tmp_path, 0).keep([A, B])

    assert ListingMarks(tmp_path, 0).select_new([A, B, C], 1e12) == [C]


def test_a_changed_file_is_new(tmp_path: Path) -> None:
    changed = FoundFile("a", A.came + 1)
    ListingMarks(tmp_path, 0).keep([A, B])

    assert ListingMarks(tmp_path, 0).select_new([changed, B], 0.0) == [changed]


def test_an_invalid_listing_file_is_refused(tmp_path: Path) -> None:
    """Code in the driver could leave such a file, which would exhaust the server's memory, or block it."""
    for number, make in enumerate((lambda path: path.touch() or os.truncate(path, 1 << 40), os.mkfifo, Path.mkdir)):
        make(tmp_path / f"{number}.listed")

        with pytest.raises(LoadError, match="which lists the loaded files, is damaged"):
            ListingMarks(tmp_path, number).select_new([A], 0.0)


@pytest.mark.parametrize("of_earlier_version", [False, True])
def test_files_are_new_by_their_time_while_there_is_no_listing(tmp_path: Path, *, of_earlier_version: bool) -> None:
    if of_earlier_version:
        mark = tmp_path / "0.listed"
        mark.touch()
        os.utime(mark, (20, 20))

    assert ListingMarks(tmp_path, 0).select_new([A, B, C], 0.0 if of_earlier_version else 20.0) == [B, A]


def test_a_listing_is_not_stored_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_space, "_LEFT_FREE", 1 << 62)

    with pytest.raises(LoadError, match="disk has no space"):
        ListingMarks(tmp_path, 0).keep([A])

    assert ListingMarks(tmp_path, 0).select_new([A], 0.0) == [A]
