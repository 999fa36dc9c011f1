"""Times as RFC 3339 text."""

import pytest

from headgate.control.text.timestamps import parse_timestamp


@pytest.mark.parametrize("text", ["1970-01-01T00:01:00Z", "1970-01-01T01:01:00+01:00", "1970-01-01 00:01:00.000+00:00"])
def test_a_time_with_a_zone_is_read_as_seconds_since_the_epoch(text: str) -> None:
    assert parse_timestamp(text) == 60.0


@pytest.mark.parametrize("text", ["", "1970-01-01T00:01:00", "1970-01-01", "yesterday", "60"])
def test_a_text_that_is_no_time_with_a_zone_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_timestamp(text)
