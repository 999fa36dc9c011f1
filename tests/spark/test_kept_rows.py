"""What a session holds - frames, caches, views, functions, checkpoints - is asked for again at every use."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.connect.session import SparkSession as ConnectSession

from tests.spark.guard_world import ADMIN, REFUSED, World

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

FLIGHTS = "SELECT * FROM lake.raw.flights"


def held(spark: SparkSession) -> Mapping[str, Callable[[], object]]:
    """Return every way in which a session may hold the rows of a table, each as a use of it."""
    frame = spark.sql(FLIGHTS)
    cached = spark.table("lake.raw.flights").cache()
    assert cached.count() == 1
    checkpoint = checkpointed(frame)
    assert checkpoint.count() == 1
    frame.createOrReplaceTempView("held_view")
    spark.sql(f"CACHE TABLE held_cache AS {FLIGHTS}").collect()
    spark.sql(
        "CREATE TEMPORARY FUNCTION held_count() RETURNS BIGINT RETURN (SELECT count(*) FROM lake.raw.flights)"
    ).collect()
    return {
        "a frame": frame.collect,
        "the schema of a frame": lambda: spark.table("lake.raw.flights").schema,
        "a cached frame": cached.collect,
        "a checkpoint": checkpoint.collect,
        "a temporary view": spark.table("held_view").collect,
        "a cached table": spark.table("held_cache").collect,
        "a temporary function": spark.sql("SELECT held_count()").collect,
    }


def checkpointed(frame: DataFrame) -> DataFrame:
    """Return the checkpoint of a frame. The client gives it to whichever session is active on the thread."""

    def made() -> DataFrame:
        assert isinstance(frame.sparkSession, ConnectSession)
        ConnectSession._set_default_and_active_session(frame.sparkSession)
        return frame.localCheckpoint()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(made).result()


def refusals(uses: Mapping[str, Callable[[], object]]) -> set[str]:
    """Return which of the uses are refused."""
    found: set[str] = set()
    for name, use in uses.items():
        try:
            use()
        except PySparkException as error:
            if error.getSqlState() == REFUSED:
                found.add(name)
    return found


def test_nothing_that_is_held_survives_a_revoke_or_the_loss_of_the_decision_service(lake: World) -> None:
    uses = held(lake.session(ADMIN))
    assert refusals(uses) == set()

    lake.decisions.rule = lambda *_: False
    assert refusals(uses) == set(uses)

    lake.decisions.rule = lambda *_: True
    assert refusals(uses) == set()
    lake.decisions.is_down = True
    assert refusals(uses) == set(uses)


def test_current_user_is_who_asks(lake: World) -> None:
    row = lake.session(ADMIN).sql("SELECT current_user(), session_user(), user(), current_user").collect()[0]

    assert set(row) == {ADMIN}


def test_operation_is_named_where_there_is_one(lake: World) -> None:
    spark = lake.session(ADMIN)

    assert spark.table("lake.raw.flights").columns == ["carrier", "year"]
    assert set(lake.decisions.operations) == {None}

    lake.decisions.operations.clear()
    spark.table("lake.raw.flights").collect()
    assert len(set(lake.decisions.operations)) == 1
    assert all(lake.decisions.operations)
