"""Fair scheduling: the user that gets the driver's next free slot."""

import os
import time

import pytest

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
