"""Models and summaries of `spark.ml` are rows held past a statement: each use is decided again, and their size is bounded."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.ml import Pipeline
from pyspark.ml.classification import LogisticRegression, RandomForestClassifier
from pyspark.ml.clustering import KMeans
from pyspark.ml.evaluation import RegressionEvaluator
from pyspark.ml.feature import Imputer, OneHotEncoder, PolynomialExpansion, StringIndexer, Tokenizer, VectorAssembler
from pyspark.ml.linalg import Vectors
from pyspark.ml.recommendation import ALS
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.connect.proto import Command
from pyspark.sql.connect.session import SparkSession as ConnectSession
from pyspark.sql.functions import col, lit

from tests.spark.guard.attempts import SOON, Attempt, refusals
from tests.spark.guard.checkpoints import checkpointed
from tests.spark.guard.driver_harness import ADMIN, REFUSED, DriverHarness, activate

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

ROWS = "SELECT id % 2 AS label, id AS x, id % 3 AS user, id % 5 AS item FROM range(20)"


@pytest.fixture
def spark(lake: DriverHarness, monkeypatch: pytest.MonkeyPatch) -> Iterator[SparkSession]:
    """Return the active session of the admin, with a table of numbers: `pyspark.ml` works on the active session."""
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
    session = activate(lake.session(ADMIN))
    session.sql("DROP TABLE IF EXISTS lake.raw.numbers").collect()
    session.sql(f"CREATE TABLE lake.raw.numbers AS {ROWS}").collect()
    yield session
    activate(session)
    lake.decisions.rule, lake.decisions.is_down = lambda *_: True, False
    session.sql("DROP TABLE IF EXISTS lake.raw.numbers").collect()


def features(rows: DataFrame) -> DataFrame:
    return VectorAssembler(inputCols=["x", "user"], outputCol="features").transform(rows)


def learned(spark: SparkSession) -> Mapping[str, Callable[[], object]]:
    """Return every way in which a session may retain what was learned from a table, each as a use of rows of its own."""
    rows = features(spark.table("lake.raw.numbers"))
    own = features(spark.sql(ROWS))
    logistic = LogisticRegression(maxIter=2).fit(rows)
    forest = RandomForestClassifier(numTrees=2, maxDepth=2, seed=1).fit(rows)
    factors = ALS(userCol="user", itemCol="item", ratingCol="x", rank=2, maxIter=1).fit(spark.table("lake.raw.numbers"))
    filled = Imputer(inputCols=["x"], outputCols=["y"]).fit(
        spark.table("lake.raw.numbers").withColumn("x", col("x") * 1.0)
    )
    transformed = logistic.transform(own)
    transformed.createOrReplaceTempView("held_model")
    checkpoint = checkpointed(transformed.select("prediction"))
    tree = forest.trees[0]
    evaluated = logistic.evaluate(own)
    return {
        "a transformation": transformed.collect,
        "the schema of a transformation": lambda: logistic.transform(own).schema,
        "a view of a transformation": spark.table("held_model").collect,
        "a checkpoint of a transformation": checkpoint.collect,
        "coefficients": lambda: logistic.coefficients,
        "a prediction": lambda: logistic.predict(Vectors.dense([1.0, 2.0])),
        "a number of the summary": lambda: logistic.summary.accuracy,
        "rows of the summary": logistic.summary.roc.collect,
        "predictions of the summary": logistic.summary.predictions.collect,
        "a summary of other rows": lambda: evaluated.accuracy,
        "an evaluation of other rows": lambda: logistic.evaluate(own),
        "a tree of a forest": lambda: tree.toDebugString,
        "the trees of a forest": lambda: forest._call_java("trees"),  # PySpark keeps `trees` after the first call
        "factors": factors.userFactors.collect,
        "means": filled.surrogateDF.collect,
        "the size of a model": lambda: size(spark, str(logistic._java_obj)),
    }


def size(spark: SparkSession, model: str) -> object:
    command = Command()
    command.ml_command.get_model_size.model_ref.id = model
    assert isinstance(spark, ConnectSession)
    return spark.client.execute_command(command)


def test_everything_that_was_learned_is_refused_after_a_revoke_or_an_outage(
    lake: DriverHarness, spark: SparkSession
) -> None:
    uses = learned(spark)
    assert refusals(uses) == set()

    lake.decisions.rule = lambda _, need: need["object"][-1:] != ["numbers"]
    assert refusals(uses) == set(uses)

    lake.decisions.rule = lambda *_: True
    assert refusals(uses) == set()
    lake.decisions.is_down = True
    assert refusals(uses) == set(uses)


def test_a_function_that_all_users_share_keeps_no_privileges(lake: DriverHarness, spark: SparkSession) -> None:
    Tokenizer(inputCol="carrier", outputCol="words").transform(spark.table("lake.raw.flights")).collect()
    lake.decisions.rule = lambda handle, _: handle == ADMIN
    reader = activate(lake.session("hgs_reader"))

    rows = Tokenizer(inputCol="t", outputCol="words").transform(reader.sql("SELECT 'a b' AS t"))

    assert rows.collect()[0].words == ["a", "b"]


def test_a_fit_needs_the_right_to_read_its_rows(lake: DriverHarness, spark: SparkSession) -> None:
    rows = features(spark.table("lake.raw.numbers"))
    lake.decisions.rule = lambda _, need: need["action"] != "table.select"

    for use in (
        lambda: KMeans(k=2).fit(rows),
        lambda: RegressionEvaluator(labelCol="label", predictionCol="x").evaluate(rows),
        rows.collect,
    ):
        with pytest.raises(PySparkException) as caught:
            use()
        assert caught.value.getSqlState() == REFUSED


def test_a_model_of_rows_of_the_client_needs_no_privilege(lake: DriverHarness, spark: SparkSession) -> None:
    model = StringIndexer(inputCol="a", outputCol="b").fit(spark.createDataFrame([("x",), ("y",)], ["a"]))
    lake.decisions.rule = lambda *_: False

    assert model.labels == ["x", "y"]
    assert model.transform(spark.createDataFrame([("y",)], ["a"])).collect()[0].b == 1.0


def test_a_pipeline_is_fitted_stage_by_stage(spark: SparkSession) -> None:
    stages = [
        StringIndexer(inputCol="user", outputCol="u"),
        OneHotEncoder(inputCol="u", outputCol="o"),
        VectorAssembler(inputCols=["x", "o"], outputCol="features"),
        LogisticRegression(maxIter=2),
    ]

    rows = Pipeline(stages=stages).fit(spark.table("lake.raw.numbers")).transform(spark.table("lake.raw.numbers"))

    assert rows.select("prediction").count() == 20


def test_a_model_belongs_to_its_session(lake: DriverHarness, spark: SparkSession) -> None:
    model = KMeans(k=2, seed=1).fit(features(spark.table("lake.raw.numbers")))
    assert isinstance(spark, ConnectSession)

    others: tuple[Any, ...] = (lake.session(ADMIN), lake.session("hgs_writer", "writer"), spark.cloneSession())
    for other in others:
        activate(other)
        with pytest.raises(PySparkException, match="Cannot retrieve"):
            model.clusterCenters()

    activate(spark)
    assert len(model.clusterCenters()) == 2


def test_a_fit_of_factors_ends_soon_after_it_is_interrupted(spark: SparkSession) -> None:
    ratings = spark.range(4_000_000).selectExpr("id % 5 AS user", "id % 7 AS item", "1.0 AS x")
    factors = ALS(userCol="user", itemCol="item", ratingCol="x", rank=100, numUserBlocks=1, numItemBlocks=1)
    attempt = Attempt(lambda: factors.fit(ratings))
    assert not attempt.wait(25)

    spark.interruptAll()

    assert attempt.wait(SOON)
    assert spark.range(3).count() == 3


def test_a_deleted_model_is_gone(spark: SparkSession) -> None:
    model = KMeans(k=2, seed=1).fit(features(spark.table("lake.raw.numbers")))
    assert isinstance(spark, ConnectSession)

    spark.client._delete_ml_cache([str(model._java_obj)])

    with pytest.raises(PySparkException, match="Cannot retrieve"):
        model.clusterCenters()


def large(kind: str, spark: SparkSession) -> Callable[[], Any]:
    """Return an operation that would allocate an array larger than the heap."""
    wide = spark.createDataFrame(
        [(0.0, Vectors.sparse(1 << 30, [1], [1.0])), (1.0, Vectors.sparse(1 << 30, [2], [1.0]))], ["label", "features"]
    )
    labels = features(spark.sql(ROWS)).withColumn("label", lit(2.0e9))
    dense = spark.createDataFrame([(Vectors.dense([1.0] * 3000),)], ["features"])
    return {
        "features": lambda: LogisticRegression(maxIter=1).fit(wide),
        "classes": lambda: LogisticRegression(maxIter=1).fit(labels),
        "terms": lambda: PolynomialExpansion(degree=9, inputCol="features", outputCol="y").transform(dense).collect(),
    }[kind]


@pytest.mark.parametrize("kind", ["features", "classes", "terms"])
def test_an_array_larger_than_the_limit_fails_only_its_statement(spark: SparkSession, kind: str) -> None:
    with pytest.raises(PySparkException):
        large(kind, spark)()

    assert spark.range(3).count() == 3
