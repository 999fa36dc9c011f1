"""Masks hide the differences that are chance, and no others."""

import pytest

from tools.compatibility.masks import mask


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("id#12L, name#3", "id#4L, name#9"),
        ("plan_id=7", "plan_id=12"),
        ("file:/tmp/a-1/x.parquet", "file:///tmp/b_2/y.parquet"),
        ("'Owner', 'root'", "'Owner', 'owner'"),
        ("Size 120 bytes", "Size 99 bytes"),
        ("1b4e28ba-2fa1-11d2-883f-0016d3cca427", "00000000-2fa1-11d2-883f-0016d3cca427"),
        ("CTERelationRef 4, true", "CTERelationRef 17, true"),
        ("*(1) Project", "*(2) Project"),
        ("current-snapshot-id = 12", "current-snapshot-id = 34"),
        ("Row(previous_ref=7415, updated_ref=26)", "Row(previous_ref=5, updated_ref=37312)"),
        ("<object at 0x7f3225ffb6c0>", "<object at 0x7fdf40fd7b80>"),
    ],
)
def test_texts_that_differ_by_chance_are_equal_behind_the_mask(one: str, other: str) -> None:
    assert mask(one) == mask(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("Row(a=1)", "Row(a=2)"), ("'gzip'", "'zstd'"), ("/data/a", "/data/b"), ("[1, 2]", "[2, 1]"), ("1 row", "2 rows")],
)
def test_texts_that_differ_otherwise_stay_different(one: str, other: str) -> None:
    assert mask(one) != mask(other)
