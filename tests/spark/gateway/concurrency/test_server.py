"""Isolation of concurrent users: no session sees rows, temporary views, errors or configuration of another session."""

import os
import signal
import time

import pytest

from tests.soak import count
from tests.spark.gateway.concurrency.actions import STEPS
from tests.spark.gateway.concurrency.clients import ConcurrentClients
from tests.spark.gateway.guarded_gateway import PEOPLE, Guarded

pytestmark = pytest.mark.spark
_SEED = 20261121


@pytest.mark.timeout(300)
def test_sixteen_sessions_of_eight_users_see_nothing_of_each_other(spark_behind_gateway: Guarded) -> None:
    crowd = ConcurrentClients(spark_behind_gateway.connect, PEOPLE[:8], 16, _SEED)

    seen = crowd.work(10)

    print(seen.report())  # noqa: T201
    assert not seen.leaks
    assert not seen.errors
    assert set(seen.steps) == {step.__name__ for step in STEPS}


@pytest.mark.soak
@pytest.mark.timeout(1200)
# PySpark's finalizer of a checkpoint warns if the driver that had the checkpoint has ended.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_sixty_four_sessions_outlive_a_driver_and_see_nothing_of_each_other(
    spark_behind_gateway: Guarded,
) -> None:
    spark_behind_gateway.fill(PEOPLE[8:])
    driver = spark_behind_gateway.world.driver
    crowd = ConcurrentClients(spark_behind_gateway.connect, PEOPLE, 64, _SEED)

    def kill_the_driver() -> None:
        time.sleep(120)
        crowd.disturbed.set()
        generation, pid = driver.generation, driver.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        while not (driver.ready and driver.generation > generation):
            time.sleep(0.5)
        crowd.back.set()
        time.sleep(60)
        crowd.disturbed.clear()

    seen = crowd.work(300, kill_the_driver)

    count(f"64 sessions of 16 users, {len(seen.recovered)} worked again after the driver was killed: {seen.report()}")
    assert not seen.leaks
    assert len(seen.recovered) == 64
