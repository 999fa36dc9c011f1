"""Times that users write."""

import time

import pytest

from headgate.cli.errors import ApiError
from headgate.cli.times import parse_time_option, read_time


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2100-01-01", 4102444800.0),
        ("2100-01-01T00:00:00Z", 4102444800.0),
        ("2100-01-01T01:00+01:00", 4102444800.0),
        ("+2d", 1000.0 + 2 * 86400),
        ("+1.5h", 1000.0 + 5400),
        ("+3m", 1180.0),
        ("-1m", 940.0),
    ],
)
def test_a_time_or_an_offset_is_read_as_seconds(text: str, seconds: float) -> None:
    assert read_time(text, 1000.0) == seconds


@pytest.mark.parametrize("text", ["", "soon", "30d", "+30", "+d"])
def test_any_other_text_is_not_a_time(text: str) -> None:
    with pytest.raises(ApiError, match=r"is not a time; write one such as `2026-11-21T09:00`"):
        parse_time_option(text)


def test_the_end_of_an_access_is_an_offset_from_now_or_left_out() -> None:
    end = parse_time_option("+1d")

    assert parse_time_option(None) is None
    assert end is not None
    assert abs(end - time.time() - 86400) < 60
