"""The stock PySpark client through the gateway to a guarded Spark."""

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql.connect import functions
from pyspark.sql.connect.proto import Plan
from pyspark.sql.connect.session import SparkSession

from tests.spark.gateway.concurrency.actions import make_active
from tests.spark.gateway.guarded_gateway import Guarded

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]
ANN, BOB, GONE = "p0", "p1", "p2"
FLIGHTS, SALARIES, OWN = "lake.raw.flights", "lake.secret.salaries", f"lake.trusted.{ANN}"
REFUSED = "42501"


@pytest.fixture(scope="module")
def spark(spark_behind_gateway: Guarded) -> Iterator[SparkSession]:
    session = spark_behind_gateway.connect(ANN)
    yield session
    session.stop()


def refusal(attempt: Callable[[], Any]) -> str:
    with pytest.raises(PySparkException) as raised:
        attempt()
    assert raised.value.getSqlState() == REFUSED, raised.value
    return str(raised.value)


def send(spark: SparkSession, plan: Plan) -> None:
    """Send a plan that the client has no method for."""
    request = spark.client._execute_plan_request_with_metadata()
    request.plan.CopyFrom(plan)
    spark.client._execute(request)


class TestEveryDay:
    def test_a_dataframe_is_counted(self, spark: SparkSession) -> None:
        assert spark.range(10).count() == 10

    def test_sql_is_answered(self, spark: SparkSession) -> None:
        assert spark.sql("SELECT :x AS x", args={"x": 1}).collect() == [(1,)]
        assert spark.sql("SELECT carrier FROM {t}", t=spark.table(FLIGHTS)).collect() == [("AA",)]

    @pytest.mark.filterwarnings("ignore:The copy keyword")  # a method of PySpark's client
    def test_local_rows_are_sent_and_returned_unchanged(self, spark: SparkSession) -> None:
        assert spark.createDataFrame([(1, "a"), (2, "b")], ["i", "s"]).toPandas().to_dict("list") == {
            "i": [1, 2],
            "s": ["a", "b"],
        }

    def test_many_local_rows_arrive_as_artifacts(self, spark: SparkSession) -> None:
        rows = pd.DataFrame({"i": range(300_000)})

        assert spark.createDataFrame(rows, "i LONG").count() == len(rows)

    def test_a_long_chain_of_operations_passes(self, spark: SparkSession) -> None:
        chain = spark.range(1)
        for index in range(100):
            chain = chain.withColumn(f"c{index}", functions.lit(index))

        assert len(chain.columns) == 101

    def test_a_cloned_session_answers_queries(self, spark: SparkSession) -> None:
        assert spark.cloneSession().range(3).count() == 3

    def test_a_user_sets_and_reads_harmless_configuration(self, spark: SparkSession) -> None:
        spark.conf.set("spark.sql.session.timeZone", "UTC")

        assert spark.conf.get("spark.sql.session.timeZone") == "UTC"

    def test_errors_of_spark_arrive_with_their_sqlstate(self, spark: SparkSession) -> None:
        with pytest.raises(AnalysisException, match="`nope` cannot be resolved") as raised:
            spark.sql("SELECT nope FROM range(1)").collect()

        assert raised.value.getSqlState() == "42703"

    def test_a_table_is_read_by_name_through_load_and_in_subqueries(self, spark: SparkSession) -> None:
        assert spark.read.format("iceberg").load(FLIGHTS).count() == 1
        assert spark.table(FLIGHTS).filter(spark.table(OWN).exists()).count() == 1


class TestCatalog:
    def test_visible_tables_columns_and_functions_are_listed_by_the_catalog(self, spark: SparkSession) -> None:
        assert [table.name for table in spark.catalog.listTables("lake.raw")] == ["flights"]
        assert [column.name for column in spark.catalog.listColumns(FLIGHTS)] == ["carrier", "year"]
        assert spark.catalog.getTable(FLIGHTS).catalog == "lake"
        assert spark.catalog.getDatabase("lake.raw").name == "raw"
        assert spark.catalog.tableExists(FLIGHTS)
        assert not spark.catalog.tableExists("lake.raw.nope")
        assert len(spark.catalog.listFunctions("lake.raw")) > 100
        assert spark.catalog.functionExists("upper")

    def test_hidden_tables_and_databases_cannot_be_looked_up(self, spark: SparkSession) -> None:
        for call in (spark.catalog.tableExists, spark.catalog.getTable, spark.catalog.listColumns):
            assert refusal(lambda call=call: call(SALARIES))
        for call in (spark.catalog.databaseExists, spark.catalog.getDatabase, spark.catalog.setCurrentDatabase):
            assert refusal(lambda call=call: call("lake.secret"))

    def test_the_current_database_belongs_to_its_session(self, spark_behind_gateway: Guarded) -> None:
        other = spark_behind_gateway.connect(ANN)
        other.catalog.setCurrentCatalog("lake")
        other.catalog.setCurrentDatabase("raw")

        assert other.catalog.currentDatabase() == "raw"
        assert other.table("flights").count() == 1
        other.stop()

    def test_cached_rows_belong_to_their_session_and_are_authorized_again(
        self, spark: SparkSession, spark_behind_gateway: Guarded
    ) -> None:
        other = spark_behind_gateway.connect(ANN)
        spark.catalog.cacheTable(FLIGHTS)
        frame = spark.table(OWN).persist()

        assert spark.catalog.isCached(FLIGHTS)
        assert not other.catalog.isCached(FLIGHTS)
        assert frame.storageLevel.useMemory
        assert not other.table(OWN).storageLevel.useMemory
        with spark_behind_gateway.revoked():
            assert refusal(lambda: spark.table(FLIGHTS).collect())
            assert refusal(frame.collect)
        spark.catalog.uncacheTable(FLIGHTS)
        spark.catalog.refreshTable(FLIGHTS)
        frame.unpersist()
        other.stop()


class TestCheckpoints:
    def test_the_rows_of_a_checkpoint_are_read_by_its_creator_until_a_revoke(
        self, spark: SparkSession, spark_behind_gateway: Guarded
    ) -> None:
        make_active(spark)

        for frame in (spark.table(OWN).localCheckpoint(), spark.table(OWN).checkpoint()):
            assert frame.count() == 10
            assert frame.filter("n < 3").localCheckpoint().count() == 3
            with spark_behind_gateway.revoked():
                assert refusal(frame.collect)

    def test_another_user_or_session_cannot_name_a_checkpoint(
        self, spark: SparkSession, spark_behind_gateway: Guarded
    ) -> None:
        make_active(spark)
        frame: Any = spark.table(OWN).localCheckpoint()
        plan = frame._plan.to_proto(spark.client)

        people = spark_behind_gateway
        for other in (people.connect(BOB), people.connect(ANN), spark.cloneSession()):
            assert "does not belong to the Spark session" in refusal(lambda other=other: send(other, plan))
            other.client.close()


class TestStreams:
    def test_a_stream_of_a_table_fills_a_table_in_memory(self, spark: SparkSession) -> None:
        query = spark.readStream.table(FLIGHTS).writeStream.format("memory").queryName("seen").start()
        query.processAllAvailable()

        assert [active.id for active in spark.streams.active] == [query.id]
        assert query.lastProgress is not None
        found = spark.streams.get(query.id)
        assert found is not None
        assert found.runId == query.runId
        assert spark.table("seen").collect() == [("AA", 2012)]
        query.stop()
        assert not spark.streams.active

    def test_a_stream_fills_a_table(self, spark: SparkSession) -> None:
        rate = spark.readStream.format("rate").option("rowsPerSecond", 5).load().selectExpr("'x' AS mark", "value AS n")

        query = rate.writeStream.trigger(availableNow=True).toTable(OWN)

        assert query.awaitTermination(60)
        assert query.exception() is None

    def test_another_user_cannot_see_or_stop_a_stream(self, spark: SparkSession, spark_behind_gateway: Guarded) -> None:
        query = spark.readStream.format("rate").load().writeStream.format("noop").start()
        bob = spark_behind_gateway.connect(BOB)
        command = Plan()
        command.command.streaming_query_command.query_id.id = query.id
        command.command.streaming_query_command.query_id.run_id = query.runId
        command.command.streaming_query_command.stop = True

        with pytest.raises(PySparkException):
            send(bob, command)
        assert not bob.streams.active
        assert query.isActive
        query.stop()
        bob.stop()


REFUSALS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "files": (lambda spark: spark.read.parquet("/etc").count(), "only a run of a pipeline reads files"),
    "a Java function": (lambda spark: spark.udf.registerJavaFunction("f", "x.Y"), "runs no code of users"),
    "the signature": (lambda spark: spark.conf.get("headgate.principal.token"), "cannot be read by users"),
    "a catalog": (lambda spark: spark.conf.set("spark.sql.catalog.evil", "x"), "cannot be changed by users"),
    "a stream of files": (
        lambda spark: spark.readStream.format("text").load("/etc").schema,
        "a streaming query cannot read the format `text`",
    ),
    "rows to keep": (lambda spark: spark.table(SALARIES).localCheckpoint(), "may not do that"),
    "rows to cache": (lambda spark: spark.table(SALARIES).persist(), "may not do that"),
    "a plan": (lambda spark: spark.table(SALARIES).explain(), "may not do that"),
    "names of files": (lambda spark: spark.table(SALARIES).inputFiles(), "may not do that"),
    "a sink that keeps nothing": (
        lambda spark: spark.table(SALARIES).write.format("noop").mode("overwrite").save(),
        "may not do that",
    ),
    "a stream": (
        lambda spark: spark.readStream.table(SALARIES).writeStream.format("memory").queryName("q").start(),
        "may not do that",
    ),
}


class TestRefusals:
    @pytest.mark.parametrize("what", REFUSALS)
    def test_each_refusal_reads_as_one_sentence(self, spark: SparkSession, what: str) -> None:
        attempt, sentence = REFUSALS[what]

        said = refusal(lambda: attempt(spark))

        assert sentence in said
        assert "\n" not in said

    def test_an_unused_reference_needs_the_right_to_read_its_table(self, spark: SparkSession) -> None:
        plan = Plan()
        plan.root.with_relations.root.range.end = plan.root.with_relations.root.range.step = 1
        plan.root.with_relations.references.add().read.named_table.unparsed_identifier = SALARIES

        assert "may not do that" in refusal(lambda: send(spark, plan))

    def test_a_dataflow_graph_needs_the_rights_on_its_database(self, spark: SparkSession) -> None:
        plan = Plan()
        graph = plan.command.pipeline_command.create_dataflow_graph
        graph.default_catalog, graph.default_database = "lake", "trusted"
        send(spark, plan)

        graph.default_database = "secret"

        assert "may not do that" in refusal(lambda: send(spark, plan))


def test_a_user_cannot_join_the_session_of_another_user(spark: SparkSession, spark_behind_gateway: Guarded) -> None:
    gateway = spark_behind_gateway.gateway
    spark.range(5).createOrReplaceTempView("anns")
    address = f"sc://localhost:{gateway.port}/;token={GONE};user_id={ANN};session_id={spark.session_id}"
    other = SparkSession.builder.remote(address).create()

    assert refusal(lambda: other.table("anns").count())

    caller = gateway.tokens.callers.pop(GONE)
    with pytest.raises(
        PySparkException, match="the token is not valid, or not for the organization that the connection names"
    ):
        other.range(1).count()
    gateway.tokens.callers[GONE] = caller
    other.client.close()
