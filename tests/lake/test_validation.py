"""Errors of PyIceberg become one kind of error."""

from collections.abc import Callable
from operator import attrgetter

import pytest

from headgate.lake.errors import InvalidMetadataError
from headgate.lake.metadata import build_updated_metadata
from headgate.lake.validation import require_valid


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: int("x"), "invalid literal"),
        (lambda: {}["schemas"], "'schemas'"),
        (lambda: attrgetter("fields")("x"), "another JSON type"),
        (lambda: next(iter(())), "no schema or partition spec with the current id"),
    ],
)
def test_an_error_in_the_making_of_metadata_is_one_of_the_metadata(make: Callable[[], object], words: str) -> None:
    with pytest.raises(InvalidMetadataError, match=words):
        require_valid("table", make)


def test_a_table_without_a_schema_is_not_valid() -> None:
    with pytest.raises(InvalidMetadataError):
        build_updated_metadata(None, None, ())
