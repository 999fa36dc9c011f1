"""Cron expressions in their time zones, also in the nights in which clocks change."""

from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.pipelines.definitions.cron import ScheduleError, last_until, next_after
from headgate.pipelines.definitions.definition import Schedule

BERLIN = "Europe/Berlin"


def at(text: str, fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(BERLIN), fold=fold).timestamp()


def following(cron: str, since: str, count: int) -> list[str]:
    """Return the next `count` times after this one, in Berlin time."""
    found, shown = at(since), list[str]()
    for _ in range(count):
        following = next_after(cron, BERLIN, found)
        assert following is not None
        found = following
        shown.append(datetime.fromtimestamp(found, ZoneInfo(BERLIN)).strftime("%d %H:%M %z"))
    return shown


class TestWhenClocksGoForward:
    def test_a_daily_time_that_the_clock_skips_is_due_right_after(self) -> None:
        assert following("30 2 * * *", "2026-03-28T12:00", 2) == ["29 03:00 +0200", "30 02:30 +0200"]

    def test_two_times_that_the_clock_skips_are_due_once(self) -> None:
        assert following("0,30 2 * * *", "2026-03-28T12:00", 2) == ["29 03:00 +0200", "30 02:00 +0200"]


class TestWhenClocksGoBack:
    def test_a_daily_time_that_the_clock_repeats_is_due_once(self) -> None:
        assert following("30 2 * * *", "2026-10-24T12:00", 2) == ["25 02:30 +0200", "26 02:30 +0100"]

    def test_an_hourly_schedule_is_due_in_both_repeated_hours(self) -> None:
        assert following("0 * * * *", "2026-10-25T01:30", 3) == ["25 02:00 +0200", "25 02:00 +0100", "25 03:00 +0100"]

    def test_the_last_due_time_in_a_repeated_hour_is_the_one_of_the_first_pass(self) -> None:
        assert last_until("30 2 * * *", BERLIN, at("2026-10-25T02:10", fold=1)) == at("2026-10-25T02:30")


@given(
    st.sampled_from(["30 2 * * *", "*/20 * * * *", "15 2,3 * * *", "0 4 * * MON", "0 0 L * *", "5 1-3 * 3,10 *"]),
    st.sampled_from([BERLIN, "UTC", "America/Sao_Paulo", "Australia/Lord_Howe", "Asia/Kathmandu"]),
    st.floats(1.75e9, 1.85e9),
)
def test_the_last_due_time_is_the_inverse_of_the_next_one(cron: str, timezone: str, now: float) -> None:
    found = next_after(cron, timezone, now)
    assert found is not None
    assert found > now
    assert last_until(cron, timezone, found) == found
    before = last_until(cron, timezone, now)
    assert before is not None
    assert before <= now
    assert next_after(cron, timezone, before) == found


def test_each_next_time_is_later_than_the_one_before() -> None:
    found = [at("2026-03-28T00:00")]
    while len(found) < 500:
        following = next_after("*/7 1-3 * * *", BERLIN, found[-1])
        assert following is not None
        found.append(following)

    assert all(one < other for one, other in pairwise(found))


@pytest.mark.parametrize(
    ("cron", "timezone", "fault"),
    [
        *((each, "UTC", "has not exactly five fields") for each in ("* * * *", "* * * * * *", "@daily")),
        *((each, "UTC", r"is invalid \(bad") for each in ("61 * * * *", "0 0 31 2 *")),
        *(("0 0 * * *", each, "is not a known time zone") for each in ("Berlin", "../../etc/passwd", "")),
    ],
)
def test_an_invalid_cron_expression_or_time_zone_is_refused(cron: str, timezone: str, fault: str) -> None:
    with pytest.raises(ScheduleError):
        next_after(cron, timezone, 0.0)
    with pytest.raises(ValueError, match=fault):
        Schedule(cron=cron, timezone=timezone)


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({}, "neither `cron` nor `after`; set one of them"),
        ({"cron": "0 * * * *", "after": "load"}, "both `cron` and `after`; remove one of them"),
    ],
)
def test_a_schedule_needs_either_a_cron_expression_or_a_pipeline(fields: dict[str, str], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        Schedule(**fields)
