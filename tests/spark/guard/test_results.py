"""Unread results: the driver limits the results that the clients of a principal have not read."""

from contextlib import closing
from typing import Any

import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.connect.dataframe import DataFrame as ConnectFrame
from pyspark.sql.connect.session import SparkSession as ConnectSession

from tests.spark.guard.attempts import STRANGER, open_as
from tests.spark.guard.driver_harness import ADMIN, DriverHarness

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

ROWS = 50_000
LARGE = f"SELECT id, repeat('x', 2000) AS x FROM range(0, {ROWS}, 1, 50)"
"""A result of 100 million bytes."""
ENDED = "57014"


@pytest.fixture
def lake(strained_lake: DriverHarness) -> DriverHarness:
    strained_lake.decisions.rule = lambda *_: True
    return strained_lake


def begin(spark: SparkSession) -> Any:
    """Read the first rows of a large result."""
    assert isinstance(spark, ConnectSession)
    frame = spark.sql(LARGE)
    assert isinstance(frame, ConnectFrame)
    batches = spark.client.to_table_as_iterator(frame._plan.to_proto(spark.client), {})
    next(batches)
    next(batches)
    return batches


def begin_many(spark: SparkSession, begun: list[Any]) -> None:
    """Start to read more results than fit into the driver's memory."""
    begun.extend(begin(spark) for _ in range(12))


def test_unread_results_of_one_user_are_bounded(lake: DriverHarness) -> None:
    spark, other, generation = open_as(lake, ADMIN), open_as(lake, STRANGER), lake.driver.generation
    begun = list[Any]()

    with pytest.raises(PySparkException, match="results of your statements that your clients have not read") as caught:
        begin_many(spark, begun)
    assert len(begun) > 1
    assert len(other.sql("SELECT repeat('x', 1000) AS x FROM range(5000)").collect()) == 5000

    assert caught.value.getSqlState() == ENDED
    assert lake.driver.generation == generation
    for batches in begun:
        batches.close()
    assert len(spark.sql(LARGE).toPandas()) == ROWS
    spark.stop()


@pytest.mark.soak
def test_results_that_have_been_read_release_their_memory(lake: DriverHarness) -> None:
    spark = open_as(lake, ADMIN)

    for _ in range(5):
        assert len(spark.sql(LARGE).toPandas()) == ROWS

    spark.stop()


@pytest.mark.soak
def test_results_that_are_closed_release_their_memory(lake: DriverHarness) -> None:
    spark = open_as(lake, ADMIN)

    for _ in range(5):
        with closing(begin(spark)) as batches:
            next(batches)

    assert len(spark.sql(LARGE).toPandas()) == ROWS
    spark.stop()
