"""Fair scheduling: the user that gets the driver's next free slot, and threads that no other user holds."""

import os
import time
from functools import reduce

import pytest
from pyspark.sql import DataFrame
from pyspark.sql.internal import InternalFunction

from tests.spark.guard.attempts import SHORT_TASKS, SOON, Attempt, open_as
from tests.spark.guard.driver_harness import DriverHarness

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]


def test_a_free_slot_goes_to_the_user_that_was_served_least_recently(lake: DriverHarness) -> None:
    """The users that hold all slots come first in the alphabet.

    Spark itself orders users with the same number of tasks alphabetically.
    """
    last, first = open_as(lake, "hgs_z"), [open_as(lake, f"hgs_a{n}") for n in range(os.cpu_count() or 1)]
    heavy = [Attempt(lambda user=user: user.sql(SHORT_TASKS).collect()) for user in first]
    time.sleep(2)

    for _ in range(3):
        last.sql("SELECT count(*) FROM range(9)").collect()

    assert not any(attempt.wait(0) for attempt in heavy)
    for user, attempt in zip(first, heavy, strict=True):
        user.interruptAll()
        assert attempt.wait(SOON)


def test_the_subqueries_of_one_user_do_not_keep_those_of_another_waiting(lake: DriverHarness) -> None:
    first, last = open_as(lake, "hgs_a"), open_as(lake, "hgs_z")
    long = ", ".join(f"(SELECT count(*) FROM range(0, {10**11 + n}, 1, 2000))" for n in range(20))
    heavy = Attempt(lambda: first.sql(f"SELECT {long}").collect())
    time.sleep(2)

    short = Attempt(lambda: last.sql("SELECT (SELECT count(*) FROM range(9))").collect())

    assert short.wait(SOON)
    assert not heavy.wait(0)
    first.interruptAll()
    assert heavy.wait(SOON)


def test_the_numbered_rows_of_one_user_do_not_keep_the_shuffles_of_another_waiting(lake: DriverHarness) -> None:
    first, last = open_as(lake, "hgs_a"), open_as(lake, "hgs_z")
    number = InternalFunction.distributed_sequence_id().alias("i")
    parts = [first.range(0, 10**10 + n, 1, 500).select(number).repartition(2) for n in range(80)]
    heavy = Attempt(lambda: reduce(DataFrame.union, parts).count())
    time.sleep(5)

    short = Attempt(lambda: last.range(9).repartition(2).count())

    assert short.wait(SOON)
    first.interruptAll()
    assert heavy.wait(2 * SOON)
