"""Memory that sessions keep in the driver between statements.

It is limited, and uploads count as soon as they take memory in the driver.
"""

import time
from collections.abc import Callable, Iterator

import grpc
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.connect.session import SparkSession as ConnectSession
from pyspark.sql.types import IntegerType, StructField, StructType

from headgate.spark.toolchain.prepare import Toolchain
from tests.spark.guard.attempts import SOON, STRANGER, Attempt, open_as
from tests.spark.guard.checkpoints import checkpointed
from tests.spark.guard.driver_harness import ADMIN, DriverHarness, world

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

TOO_LARGE = "54000"
COUNT = "SELECT count(*) FROM range(5)"
LONG = "x" * 15_000_000


def sent_rows(spark: SparkSession, number: int) -> DataFrame:
    """Return 20 million bytes or more of rows that the client uploads."""
    return spark.createDataFrame(pa.table({"x": [str(number) * 1_000_000] * 20}))


def keep_rows(spark: SparkSession, number: int) -> None:
    """Keep uploaded rows in a temporary view."""
    sent_rows(spark, number).createOrReplaceTempView(f"rows{number}")


def keep_many_rows(spark: SparkSession, number: int) -> None:
    """Keep rows without bytes in a temporary view."""
    spark.createDataFrame(pa.table({"x": pa.nulls(500_000, pa.int32())})).createOrReplaceTempView(f"nulls{number}")


def keep_text(spark: SparkSession, number: int) -> None:
    """Keep a text in the plan of a temporary view."""
    spark.range(1).select(sf.lit(f"{number}{LONG}").alias("x")).createOrReplaceTempView(f"text{number}")


def keep_comment(spark: SparkSession, number: int) -> None:
    """Keep the SQL text of the DataFrame of a temporary view."""
    spark.sql(f"SELECT 1 + {number} AS a /* {LONG} */").createOrReplaceTempView(f"comment{number}")


def keep_operations(spark: SparkSession, number: int) -> None:
    """Keep a plan of many short expressions in a temporary view."""
    sums = ",".join(f"id + {n}" for n in range(20_000))
    spark.sql(f"SELECT array({sums}) AS a FROM range(1)").createOrReplaceTempView(f"many{number}")


def keep_subquery(spark: SparkSession, number: int) -> None:
    """Keep a text within a subquery of a temporary view."""
    spark.sql(f"CREATE TEMP VIEW sub{number} AS SELECT (SELECT max('{LONG}') FROM range(1)) AS x").collect()


def keep_variable(spark: SparkSession, number: int) -> None:
    """Keep a value in a variable."""
    spark.sql(f"DECLARE VARIABLE v{number} STRING").collect()
    spark.sql(f"SET VAR v{number} = repeat('x', 15000000)").collect()


def keep_function(spark: SparkSession, number: int) -> None:
    """Keep a text in a temporary function."""
    spark.sql(f"CREATE TEMPORARY FUNCTION f{number}() RETURNS STRING RETURN '{LONG}'").collect()


def keep_cache(spark: SparkSession, number: int) -> None:
    """Keep uploaded rows in a plan that Spark caches."""
    sent_rows(spark, number).persist()


def keep_checkpoint(spark: SparkSession, number: int) -> None:
    """Keep uploaded rows in a checkpoint that has not been computed."""
    CHECKPOINTS.append(checkpointed(sent_rows(spark, number), eager=False))


def keep_planned_checkpoint(spark: SparkSession, number: int) -> None:
    """Keep many expressions of a temporary view in a checkpoint that has not been computed."""
    if number == 0:
        sums = ",".join(f"id + {n}" for n in range(8_000))
        spark.sql(f"CREATE TEMP VIEW planned AS SELECT array({sums}) AS a FROM range(1)").collect()
    CHECKPOINTS.append(checkpointed(spark.table("planned"), eager=False))


def keep_small_checkpoints(spark: SparkSession, number: int) -> None:
    """Keep the expressions of ten plans of less than a thousand nodes, in checkpoints that have not been computed."""
    if number == 0:
        sums = ",".join(f"id + {n}" for n in range(300))
        spark.sql(f"CREATE TEMP VIEW small AS SELECT array({sums}) AS a FROM range(1)").collect()
    CHECKPOINTS.extend(checkpointed(spark.table("small"), eager=False) for _ in range(10))


def wide(number: int) -> StructType:
    """Return a type with many fields."""
    return StructType([StructField(f"f{number}_{n}", IntegerType()) for n in range(30_000)])


def keep_type(spark: SparkSession, number: int) -> None:
    """Keep a type with many fields in an expression of a temporary view."""
    spark.range(1).where(sf.lit(None).cast(wide(number)).isNull()).createOrReplaceTempView(f"type{number}")


def keep_variable_type(spark: SparkSession, number: int) -> None:
    """Keep a variable of a type with many fields."""
    spark.sql(f"DECLARE VARIABLE t{number} {wide(number).simpleString()}").collect()


def keep_function_type(spark: SparkSession, number: int) -> None:
    """Keep a temporary function with a parameter of many fields."""
    spark.sql(
        f"CREATE TEMPORARY FUNCTION t{number}(x {wide(number).simpleString()}) RETURNS INT RETURN {number}"
    ).collect()


def keep_metadata(spark: SparkSession, number: int) -> None:
    """Keep a text in metadata of a column that is not a column of the temporary view."""
    described = spark.range(1).withMetadata("id", {"text": f"{number}{LONG}"})
    described.where("id > 0").groupBy().count().createOrReplaceTempView(f"metadata{number}")


CHECKPOINTS: list[object] = []
KEPT: dict[str, Callable[[SparkSession, int], None]] = {
    "rows": keep_rows,
    "rows without bytes": keep_many_rows,
    "texts": keep_text,
    "comments": keep_comment,
    "operations": keep_operations,
    "subqueries": keep_subquery,
    "variables": keep_variable,
    "functions": keep_function,
    "cached plans": keep_cache,
    "checkpoints": keep_checkpoint,
    "planned checkpoints": keep_planned_checkpoint,
    "small checkpoints": keep_small_checkpoints,
    "types": keep_type,
    "types of variables": keep_variable_type,
    "types of functions": keep_function_type,
    "metadata": keep_metadata,
}


FEW = ("rows without bytes", "planned checkpoints")
"""The kinds that a full test run has time for: rows, and the expressions of a plan."""


@pytest.fixture(scope="module")
def lake(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DriverHarness]:
    with world(toolchain, tmp_path_factory.mktemp("kept")) as opened:
        opened.decisions.rule = lambda *_: True
        yield opened


def keep_many(spark: SparkSession, kind: str) -> None:
    """Keep more than a session may keep."""
    for number in range(60):
        KEPT[kind](spark, number)


def keep_in_clone(lake: DriverHarness, number: int) -> ConnectSession:
    """Keep rows in the clone of a session that has ended."""
    spark = lake.session(ADMIN)
    assert isinstance(spark, ConnectSession)
    try:
        keep_rows(spark, number)
        return spark.cloneSession()
    finally:
        spark.stop()


def misspell(spark: SparkSession, work: str) -> object:
    """Request a column that does not exist, in a long text."""
    frame = spark.sql(f"SELECT nope /* {LONG} */")
    return frame.schema if work == "analysis" else frame.collect()


def has_room(lake: DriverHarness, user: str) -> bool:
    """Return whether a new session of the user may store a variable."""
    with lake.end_sessions():
        try:
            keep_variable(lake.session(ADMIN, user), 0)
        except PySparkException:
            return False
    return True


def wait_for_room(lake: DriverHarness, user: str = "user") -> None:
    """Wait until the memory of the user's ended sessions is released."""
    until = time.monotonic() + 4 * SOON
    while not has_room(lake, user):
        assert time.monotonic() < until, "the sessions have ended, and their memory is still counted"
        time.sleep(1)


@pytest.mark.parametrize(
    "kind", [*FEW, *(pytest.param(kind, marks=pytest.mark.soak) for kind in KEPT if kind not in FEW)]
)
def test_the_memory_of_the_sessions_of_one_user_is_bounded(lake: DriverHarness, kind: str) -> None:
    spark, other, generation = lake.session(ADMIN), open_as(lake, STRANGER), lake.driver.generation

    with pytest.raises(PySparkException, match="your Spark sessions with their temporary views") as caught:
        keep_many(spark, kind)
    CHECKPOINTS.clear()
    spark.stop()

    assert caught.value.getSqlState() == TOO_LARGE
    other.sql(COUNT).collect()
    assert lake.driver.generation == generation
    wait_for_room(lake)


def test_the_number_of_sessions_of_one_user_is_bounded(lake: DriverHarness) -> None:
    generation, sessions = lake.driver.generation, list[SparkSession]()

    with lake.end_sessions():
        with pytest.raises(PySparkException, match="stop some sessions") as caught:
            sessions.extend(open_as(lake, STRANGER) for _ in range(200))
        lake.session(ADMIN).sql(COUNT).collect()

    assert caught.value.getSqlState() == TOO_LARGE
    assert 100 < len(sessions) <= 128
    wait_for_room(lake, STRANGER)
    assert lake.driver.generation == generation


def test_sessions_of_several_users_leave_capacity_for_another_user(lake: DriverHarness) -> None:
    generation, sessions = lake.driver.generation, list[SparkSession]()

    with lake.end_sessions():
        for user in ("one", "another", "third"):
            with pytest.raises(PySparkException, match="sessions"):
                sessions.extend(open_as(lake, user) for _ in range(200))
        lake.session(ADMIN).sql(COUNT).collect()

    assert len(sessions) > 200
    assert lake.driver.generation == generation
    wait_for_room(lake)


def test_a_clone_counts_as_a_session(lake: DriverHarness) -> None:
    generation, clones = lake.driver.generation, list[ConnectSession]()

    # PySpark raises the error of a clone as gRPC's error.
    with pytest.raises((PySparkException, grpc.RpcError), match="your Spark sessions with their temporary views"):
        clones.extend(keep_in_clone(lake, number) for number in range(60))
    assert clones[0].table("rows0").count() == 20
    for clone in clones:
        clone.client.release_session()
    wait_for_room(lake)

    assert lake.driver.generation == generation


@pytest.mark.soak
def test_a_replaced_view_releases_its_memory(lake: DriverHarness) -> None:
    spark = lake.session(ADMIN)

    for number in range(20):
        sent_rows(spark, number).createOrReplaceTempView("again")

    assert spark.table("again").count() == 20
    spark.stop()


def test_rows_of_a_stream_in_memory_are_bounded(lake: DriverHarness) -> None:
    spark, other, generation = lake.session(ADMIN), open_as(lake, STRANGER), lake.driver.generation
    rate = spark.readStream.format("rate").option("rowsPerSecond", 200).option("numPartitions", 2).load()
    wide = rate.select(sf.repeat(sf.lit("x"), 100_000).alias("x"))
    query = wide.writeStream.format("memory").queryName("wide").outputMode("append").start()

    with pytest.raises(PySparkException, match="your Spark sessions with their temporary views"):
        query.awaitTermination(60)
    other.sql(COUNT).collect()

    assert lake.driver.generation == generation
    spark.stop()


@pytest.mark.parametrize("work", ["rows", "analysis"])
@pytest.mark.parametrize(
    "column", [pa.nulls(5_000_000), pa.array([True]).take(pa.array([0] * 5_000_000))], ids=["nulls", "booleans"]
)
def test_rows_that_are_compact_on_the_wire_count_with_their_size_in_memory(
    lake: DriverHarness, column: pa.Array, work: str
) -> None:
    spark, generation = lake.session(ADMIN), lake.driver.generation
    frame = spark.createDataFrame(pa.table({"x": column.cast(pa.bool_())}))
    begun = time.monotonic()

    with pytest.raises(PySparkException, match="its constants and expressions take") as caught:
        frame.isLocal() if work == "analysis" else frame.count()

    assert caught.value.getSqlState() == TOO_LARGE
    assert time.monotonic() - begun < SOON
    assert lake.driver.generation == generation


@pytest.mark.soak
def test_expressions_of_all_running_statements_are_bounded_together(lake: DriverHarness) -> None:
    first, second = lake.session(ADMIN), lake.session(ADMIN)
    large = f"SELECT greatest({', '.join(f'hash(id, {n})' for n in range(12_000))}) AS x FROM range(1000000)"
    running = Attempt(lambda: first.sql(f"SELECT count(*) FROM ({large}) WHERE x = 1").collect())
    time.sleep(5)

    with pytest.raises(PySparkException, match="its constants and expressions take") as caught:
        second.sql(large).collect()
    first.interruptAll()

    assert caught.value.getSqlState() == TOO_LARGE
    assert running.wait(SOON)
    assert len(second.sql(f"{large} LIMIT 3").collect()) == 3


def test_rows_of_a_large_frame_are_accepted(lake: DriverHarness) -> None:
    spark = lake.session(ADMIN)
    frame = pd.DataFrame({"number": range(200_000), "name": [f"name {n}" for n in range(200_000)], "part": 0.5})

    assert spark.createDataFrame(frame).count() == 200_000


@pytest.mark.soak
@pytest.mark.parametrize("work", ["rows", "analysis"])
def test_errors_retain_nothing_of_their_statements(lake: DriverHarness, work: str) -> None:
    generation, sessions = lake.driver.generation, [lake.session(ADMIN) for _ in range(4)]

    for spark in sessions:
        for _ in range(20):
            with pytest.raises(PySparkException, match="UNRESOLVED_COLUMN"):
                misspell(spark, work)

    assert lake.driver.generation == generation


@pytest.mark.soak
def test_the_constants_of_ended_statements_are_released(lake: DriverHarness) -> None:
    spark, generation = lake.session(ADMIN), lake.driver.generation

    for number in range(100):
        spark.sql(f"SELECT repeat('x{number}', 3000000) AS s FROM range(1) WHERE id > 5").collect()

    assert lake.driver.generation == generation


@pytest.mark.soak
def test_ended_statements_release_their_memory(lake: DriverHarness) -> None:
    generation = lake.driver.generation

    for number in range(80):
        spark = lake.session(ADMIN)
        spark.sql(f"SELECT {number} AS a /* {LONG} */").collect()
        spark.stop()

    assert lake.driver.generation == generation
