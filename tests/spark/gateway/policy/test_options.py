"""Options of reads and writes: an allow-list, and a range for each number."""

from typing import Any

import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession

from tests.spark.guard.driver_harness import ADMIN, REFUSED, DriverHarness

pytestmark = pytest.mark.spark

FLIGHTS = "lake.raw.flights"

OUT_OF_RANGE = {
    "split-size": ["1", "many", "1e9", ""],
    "batch-size": ["0", "2000000000", "99999999999999999999"],
    "lookback": ["1000000"],
}


def refusal(act: Any) -> str:
    with pytest.raises(PySparkException) as caught:
        act()
    assert caught.value.getSqlState() == REFUSED, caught.value
    return str(caught.value)


@pytest.fixture
def spark(lake: DriverHarness) -> SparkSession:
    return lake.session(ADMIN)


@pytest.mark.parametrize(
    ("option", "value"), [(option, value) for option, values in OUT_OF_RANGE.items() for value in values]
)
def test_a_number_out_of_its_range_is_refused_in_a_read(spark: SparkSession, option: str, value: str) -> None:
    message = f"option `{option}` of table reads is out of range; use a whole number from "

    assert message in refusal(spark.read.option(option, value).table(FLIGHTS).collect)
    assert message in refusal(lambda: spark.sql(f"SELECT * FROM {FLIGHTS} WITH (`{option}` = '{value}')").collect())


def test_a_number_within_its_range_is_accepted(spark: SparkSession) -> None:
    read = spark.read.option("split-size", 1 << 20).option("batch-size", "1000").option("lookback", "20").table(FLIGHTS)

    assert read.collect() == spark.table(FLIGHTS).collect()


def test_an_option_that_is_not_listed_is_refused_in_a_read(spark: SparkSession) -> None:
    assert "option `path` of table reads is not allowed" in refusal(
        spark.read.option("path", "/etc").table(FLIGHTS).collect
    )


def test_a_number_out_of_its_range_is_refused_in_a_write(spark: SparkSession) -> None:
    writer = spark.range(1).writeTo("lake.raw.sized").option("target-file-size-bytes", "1")

    assert "option `target-file-size-bytes` of table writes is out of range" in refusal(writer.create)


def test_a_rate_stream_has_at_most_a_thousand_partitions(spark: SparkSession) -> None:
    many = spark.readStream.format("rate").option("numPartitions", "100000000").load()

    assert "is out of range; use a whole number from 1 to 1000" in refusal(lambda: many.schema)
