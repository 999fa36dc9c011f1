"""When a stream last listed its folder."""

import os
from pathlib import Path

from headgate.pipelines.listing_marks import ListingMarks


def test_a_listing_counts_from_its_beginning_once_it_has_ended(tmp_path: Path) -> None:
    marks = ListingMarks(tmp_path, 0)
    assert marks.last is None

    marks.begin()
    assert marks.last is None
    os.utime(tmp_path / "0.listing", (5, 5))
    marks.end()

    assert marks.last == 5
    assert ListingMarks(tmp_path, 1).last is None


def test_a_listing_that_did_not_end_is_forgotten(tmp_path: Path) -> None:
    ListingMarks(tmp_path, 0).begin()
    os.utime(tmp_path / "0.listing", (5, 5))

    marks = ListingMarks(tmp_path, 0)
    marks.begin()
    marks.end()

    assert marks.last is not None
    assert marks.last > 5
