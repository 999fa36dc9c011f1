"""The stock PySpark client through the gateway to a real Spark."""

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pytest
from plain_spark import plain_spark
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql.connect import functions
from pyspark.sql.connect.session import SparkSession
from running import RunningGateway, running_gateway

from headgate.spark.toolchain import Toolchain

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def gateway(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGateway]:
    with (
        plain_spark(tmp_path_factory.mktemp("spark"), str(toolchain.java)) as driver,
        running_gateway(driver, "ann", "bob") as running,
    ):
        yield running


@pytest.fixture(scope="module")
def spark(gateway: RunningGateway) -> Iterator[SparkSession]:
    session = connect(gateway, "ann")
    yield session
    session.stop()


def connect(gateway: RunningGateway, token: str, more: str = "") -> SparkSession:
    return SparkSession.builder.remote(f"sc://localhost:{gateway.port}/;token={token}{more}").appName("test").create()


def test_a_dataframe_is_counted(spark: SparkSession) -> None:
    assert spark.range(10).count() == 10


def test_sql_is_answered(spark: SparkSession) -> None:
    assert spark.sql("SELECT :x AS x", args={"x": 1}).collect() == [(1,)]


@pytest.mark.filterwarnings("ignore:The copy keyword")  # PySpark uses it
def test_local_rows_go_there_and_back(spark: SparkSession) -> None:
    assert spark.createDataFrame([(1, "a"), (2, "b")], ["i", "s"]).toPandas().to_dict("list") == {
        "i": [1, 2],
        "s": ["a", "b"],
    }


def test_many_local_rows_go_as_artifacts(spark: SparkSession) -> None:
    rows = pd.DataFrame({"i": range(300_000)})

    assert spark.createDataFrame(rows, "i LONG").count() == len(rows)


def test_a_long_chain_of_operations_passes(spark: SparkSession) -> None:
    chain = spark.range(1)
    for index in range(100):
        chain = chain.withColumn(f"c{index}", functions.lit(index))

    assert len(chain.columns) == 101


def test_a_clone_is_a_session_of_its_own(spark: SparkSession) -> None:
    assert spark.cloneSession().range(3).count() == 3


def test_harmless_configuration_is_the_users(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.session.timeZone", "UTC")

    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_sparks_own_errors_arrive_whole(spark: SparkSession) -> None:
    with pytest.raises(AnalysisException, match="`nope` cannot be resolved") as raised:
        spark.sql("SELECT nope FROM range(1)").collect()

    assert raised.value.getSqlState() == "42703"


@pytest.mark.parametrize(
    ("attempt", "sentence"),
    [
        (lambda spark: spark.read.parquet("/etc").count(), "only a run reads files"),
        (lambda spark: spark.udf.registerJavaFunction("f", "x.Y"), "user code does not run"),
        (lambda spark: spark.conf.get("spark.headgate.principal.token"), "cannot be read by users"),
        (lambda spark: spark.conf.set("spark.sql.catalog.evil", "x"), "cannot be changed by users"),
        (lambda spark: spark.range(1).localCheckpoint(), "a checkpoint would outlive the right to read it"),
    ],
)
def test_a_refusal_reads_as_one_sentence(spark: SparkSession, attempt: Callable[[Any], Any], sentence: str) -> None:
    with pytest.raises(PySparkException) as raised:
        attempt(spark)

    assert raised.value.getSqlState() == "42501"
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)


def test_nobody_joins_a_foreign_session(spark: SparkSession, gateway: RunningGateway) -> None:
    spark.range(5).createOrReplaceTempView("anns")
    bob = connect(gateway, "bob", f";user_id=ann;session_id={spark.session_id}")

    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        bob.table("anns").count()

    del gateway.tokens.callers["bob"]
    with pytest.raises(PySparkException, match="the token is not valid; ask for a new one"):
        bob.range(1).count()
