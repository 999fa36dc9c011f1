"""Everything that a session holds loses its access when the privilege is revoked."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from pyspark.errors.exceptions.connect import SparkConnectGrpcException
from pyspark.sql.connect.session import SparkSession

from tools.bypass_corpus.stack import Stack

SALARIES = "lake.secret.salaries"
READ = ("read", SALARIES)
PATIENCE = 60.0
"""Seconds after which a running stream counts as one that does not end."""

Ask = Callable[[], object]


@pytest.fixture
def spark(stack: Stack) -> Iterator[SparkSession]:
    stack.grant([READ])
    session = stack.connect()
    yield session
    session.stop()


def held(spark: SparkSession) -> dict[str, Ask]:
    """Return functions that use again something that the session has obtained, by name."""
    frame = spark.table(SALARIES)
    frame.createTempView("a_view")
    spark.sql(f"CREATE TEMPORARY VIEW sql_view AS SELECT emp FROM {SALARIES}")
    spark.sql(f"CREATE TEMPORARY FUNCTION top() RETURNS DOUBLE RETURN (SELECT max(amount) FROM {SALARIES})")
    cached = spark.table(SALARIES).cache()
    cached.count()
    spark.sql(f"CACHE TABLE kept AS SELECT amount FROM {SALARIES}")
    return {
        "a DataFrame": frame.collect,
        "its schema": lambda: spark.table(SALARIES).schema,
        "a count": frame.count,
        "a view of a DataFrame": lambda: spark.table("a_view").collect(),
        "a view of SQL": lambda: spark.sql("SELECT * FROM sql_view").collect(),
        "a function": lambda: spark.sql("SELECT top()").collect(),
        "a cached DataFrame": cached.collect,
        "a cached table": lambda: spark.sql("SELECT count(*) FROM kept").collect(),
    }


def unstopped(asks: dict[str, Ask]) -> list[str]:
    """Return the names of the uses that were not refused."""
    return [what for what, ask in asks.items() if not refused(ask)]


def refused(ask: Ask) -> bool:
    try:
        ask()
    except SparkConnectGrpcException as error:
        return error.getSqlState() == "42501"
    return False


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_a_revoke_stops_everything_that_a_session_holds(stack: Stack, spark: SparkSession) -> None:
    asks = held(spark)
    assert unstopped(asks) == list(asks)

    stack.grant([])

    assert unstopped(asks) == []


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_a_revoke_ends_a_stream(stack: Stack, spark: SparkSession) -> None:
    reading = spark.readStream.table(SALARIES).writeStream.format("memory").queryName("s")
    query = reading.trigger(processingTime="1 second").start()
    query.processAllAvailable()

    stack.grant([])

    deadline = time.monotonic() + PATIENCE
    while query.isActive and time.monotonic() < deadline:
        time.sleep(0.5)
    assert not query.isActive


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_a_table_that_is_created_again_under_its_name_is_another_table(stack: Stack, spark: SparkSession) -> None:
    asks = held(spark)

    stack.remake(SALARIES)

    assert unstopped(asks) == []


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_a_user_cannot_read_a_table_by_renaming_it_into_a_readable_database(stack: Stack, spark: SparkSession) -> None:
    stack.grant([("alter", SALARIES), ("drop", SALARIES), ("create", "lake.trusted"), ("read", "lake.trusted")])

    with suppress(SparkConnectGrpcException):  # refused, or without effect
        spark.sql(f"ALTER TABLE {SALARIES} RENAME TO lake.trusted.mine")

    with pytest.raises(SparkConnectGrpcException):  # refused, or the table does not exist
        spark.table("lake.trusted.mine").collect()
    assert refused(lambda: spark.table(SALARIES).schema)
