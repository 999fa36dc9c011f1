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
    parts = [first.range(0, 10**9 + n, 1, 500).select(number).repartition(2) for n in range(80)]
    heavy = Attempt(lambda: reduce(DataFrame.union, parts).count())
    time.sleep(5)

    short = Attempt(lambda: last.range(9).repartition(2).count())

    assert short.wait(SOON)
    assert not heavy.wait(0)
    first.interruptAll()
    assert heavy.wait(2 * SOON)


def sum_of_stages(number: int) -> str:
    """Return a query with this number of stages, of 10,000 tasks each."""
    stage = "SELECT count(*) AS n FROM range(0, {}, 1, 10000) GROUP BY id % 2"
    return f"SELECT sum(n) FROM ({' UNION ALL '.join(stage.format(10**11 + n) for n in range(number))})"


def test_the_tasks_of_many_stages_do_not_end_the_driver(lake: DriverHarness) -> None:
    """Spark creates the tasks of all stages at once; with 2,500,000 of them, a driver of 1 GiB has no memory left."""
    first, last = open_as(lake, "hgs_a"), open_as(lake, "hgs_z")
    heavy = Attempt(lambda: first.sql(sum_of_stages(250)).collect())

    assert not heavy.wait(20)
    assert Attempt(lambda: last.sql("SELECT count(*) FROM range(9)").collect()).wait(SOON)
    first.interruptAll()
    assert heavy.wait(SOON)
    # The jobs that waited do not start when the statement has ended: their tasks would fill the memory.
    assert last.sql("SELECT count(*) FROM range(0, 10000, 1, 100)").first() == (10000,)


def test_a_job_with_too_many_tasks_in_all_its_stages_is_refused(lake: DriverHarness) -> None:
    """Without adaptive execution, Spark runs all stages of a query as one job."""
    first = open_as(lake, "hgs_a")
    first.conf.set("spark.sql.adaptive.enabled", "false")

    heavy = Attempt(lambda: first.sql(sum_of_stages(11)).collect())

    assert heavy.wait(SOON)
    assert heavy.state == "54000", heavy.message
