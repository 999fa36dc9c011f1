"""The pandas API on Spark: its frames are ordinary plans, its index keeps no rows, and its functions are bounded."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, expr, lit
from pyspark.sql.internal import InternalFunction

from tests.spark.guard.driver_harness import ADMIN, REFUSED, DriverHarness, activate

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark"), pytest.mark.filterwarnings("ignore")]

SCORES = "lake.raw.scores"


@pytest.fixture
def spark(lake: DriverHarness, monkeypatch: pytest.MonkeyPatch) -> Iterator[SparkSession]:
    """Return the active session of the admin, with a table of ten scores: `pyspark.pandas` works on the active session."""
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
    monkeypatch.setenv("PYARROW_IGNORE_TIMEZONE", "1")
    session = activate(lake.session(ADMIN))
    session.sql(f"DROP TABLE IF EXISTS {SCORES}").collect()
    session.sql(f"CREATE TABLE {SCORES} AS SELECT id % 2 AS team, id * id AS score FROM range(0, 10, 1, 3)").collect()
    yield session
    activate(session)
    lake.decisions.rule = lambda *_: True
    session.sql(f"DROP TABLE IF EXISTS {SCORES}").collect()


def scores() -> Any:
    """Return the table as a frame of pandas; the import asks the active session for settings."""
    from pyspark.pandas import namespace  # noqa: PLC0415 (it warns unless the environment is set)

    return namespace.read_table(SCORES)


def test_a_frame_has_an_index_in_sequence() -> None:
    frame = scores()

    assert sorted(frame.index.to_numpy()) == list(range(10))
    assert sorted(frame.head(3).index.to_numpy()) == [0, 1, 2]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("mode", 0), ("prod", 0), ("std", 28), ("var", 801), ("skew", 0), ("kurt", 0), ("nunique", 10)],
)
def test_an_aggregate_of_pandas_is_computed(name: str, expected: int) -> None:
    found = getattr(scores().score, name)()

    assert int(found.iloc[0] if name == "mode" else found) == expected


def test_a_frame_is_grouped_windowed_and_filled() -> None:
    frame = scores().set_index("score").sort_index()

    assert frame.groupby("team").size().sort_index().to_list() == [5, 5]
    assert frame.team.ewm(alpha=0.5).mean().round(2).to_list()[:3] == [0.0, 0.67, 0.29]
    assert frame.team.shift(-1).fillna(-1).to_list()[-1] == -1
    assert scores().cov().shape == (2, 2)


def test_a_frame_needs_the_right_to_read_its_rows(lake: DriverHarness) -> None:
    frame = scores()
    lake.decisions.rule = lambda _, need: need["action"] != "table.select"

    for use in (frame.to_pandas, frame.score.mode, lambda: frame.groupby("team").sum().to_pandas(), scores):
        with pytest.raises(PySparkException) as caught:
            use()
        assert caught.value.getSqlState() == REFUSED


def test_a_frame_with_an_index_is_decided_at_each_use(lake: DriverHarness, spark: SparkSession) -> None:
    frame = scores()
    frame.spark.cache()
    frame.to_spark(index_col="place").createOrReplaceTempView("placed")
    assert spark.table("placed").count() == 10

    lake.decisions.rule = lambda _, need: need["object"][-1:] != ["scores"]

    for use in (spark.table("placed").collect, frame.to_pandas):
        with pytest.raises(PySparkException) as caught:
            use()
        assert caught.value.getSqlState() == REFUSED


@pytest.mark.parametrize("size", [2001, 2**31 - 1])
def test_the_largest_values_of_a_group_are_limited_in_number(spark: SparkSession, size: int) -> None:
    with pytest.raises(PySparkException) as caught:
        spark.range(10).agg(InternalFunction.collect_top_k(col("id"), size, reverse=False)).collect()

    assert caught.value.getSqlState() == "54000"
    assert spark.range(10).agg(InternalFunction.collect_top_k(col("id"), 3, reverse=False)).collect()[0][0] == [9, 8, 7]


def numbered_wide_rows(spark: SparkSession) -> object:
    wide = spark.range(0, 240, 1, 2).select(expr("repeat('x', 16000000)").alias("v"))
    return wide.select(InternalFunction.distributed_sequence_id().alias("i"), expr("length(v)")).collect()


def wide_states(spark: SparkSession) -> object:
    states = [InternalFunction.collect_top_k(col("id") + n, 2000, reverse=False).alias(f"c{n}") for n in range(250)]
    return spark.range(0, 128, 1, 1).groupBy("id").agg(*states).collect()


def wide_sketches(spark: SparkSession) -> object:
    return spark.sql(
        "SELECT id, count_min_sketch(id, 0.000005D, 0.9D, 1) FROM range(0, 128, 1, 1) GROUP BY id"
    ).collect()


@pytest.mark.parametrize("run", [numbered_wide_rows, wide_states, wide_sketches])
def test_a_statement_that_would_fill_the_heap_ends_alone(
    spark: SparkSession, run: Callable[[SparkSession], object]
) -> None:
    with suppress(PySparkException):
        run(spark)

    assert spark.range(3).count() == 3


@pytest.mark.parametrize("level", ["DISK_ONLY", "LOCAL_CHECKPOINT"])
def test_an_index_keeps_no_rows(lake: DriverHarness, spark: SparkSession, level: str) -> None:
    """Without adaptive execution, Spark would keep the rows until it collects the garbage of the statement."""
    spark.conf.set("pandas_on_Spark.compute.default_index_cache", f'"{level}"')
    spark.conf.set("spark.sql.adaptive.enabled", "false")

    rows = spark.range(0, 10, 1, 3).select(InternalFunction.distributed_sequence_id().alias("i"), "id").collect()

    assert [row.i for row in rows] == list(range(10))
    assert [file.name for file in (lake.warehouse.parent / "scratch").rglob("rdd_*")] == []


def test_an_option_of_pandas_is_a_setting_of_the_session(spark: SparkSession) -> None:
    import pyspark.pandas as ps  # noqa: PLC0415 (as above)

    ps.set_option("display.max_rows", 7)

    assert ps.get_option("display.max_rows") == 7
    assert spark.conf.get("pandas_on_Spark.display.max_rows") == "7"
    ps.reset_option("display.max_rows")
    assert ps.get_option("display.max_rows") == 1000


@pytest.mark.parametrize("function", ["bloom_filter_agg", "bucket", "years"])
def test_a_function_that_neither_pandas_nor_spark_ml_calls_stays_refused(spark: SparkSession, function: str) -> None:
    rows = spark.range(1).select(InternalFunction._invoke_internal_function_over_columns(function, lit(1), lit(2)))

    with pytest.raises(PySparkException) as caught:
        rows.collect()

    assert caught.value.getSqlState() == REFUSED
