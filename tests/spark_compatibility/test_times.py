"""The times of both sides, of the statements with the same result."""

from dataclasses import replace

from tests.spark_compatibility.test_summary import SAME, WRONG
from tools.compatibility.comparison import Compared
from tools.compatibility.times import describe_times


def timed(compared: Compared, ours: int, theirs: int) -> Compared:
    return replace(compared, headgate=replace(compared.headgate, ms=ours), plain=replace(compared.plain, ms=theirs))


def test_each_suite_has_the_median_and_the_sum_of_the_times_of_equal_results() -> None:
    slow, other = timed(SAME, 4000, 1000), replace(timed(SAME, 0, 0), job="group-by.sql")
    compared = [timed(SAME, 120, 100), timed(SAME, 130, 110), slow, timed(WRONG, 9999, 1), other]

    assert list(describe_times(compared)) == [
        "times behind Headgate over those on plain Spark:",
        "  Spark's SQL tests: 1 statements, median 0 over 0 ms, sum 0.0 over 0.0 s",
        "  TPC-H: 3 statements, median 130 over 110 ms (1.18), sum 4.2 over 1.2 s (3.51)",
    ]
