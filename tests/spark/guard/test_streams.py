"""Streams: the privileges of a streaming query, its permitted sources and sinks, and its end after a revoke."""

import io
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tests.spark.guard.driver_harness import ADMIN, REFUSED, DriverHarness

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

READER = "hgs_reader"
LARGE = f"greatest({', '.join(f'hash(value, {n})' for n in range(12_000))}) AS x"
READS = {"table.select lake.raw.flights"}


def refused(act: Callable[[], object]) -> None:
    """Fail unless the guard refuses the call."""
    with pytest.raises(PySparkException) as caught:
        act()
    assert caught.value.getSqlState() == REFUSED, caught.value


def finished(query: StreamingQuery) -> None:
    """Wait until a query has processed the available data, and stop it."""
    query.processAllAvailable()
    query.stop()


def start_rate_stream(spark: SparkSession, table: str = "", column: str = "*") -> StreamingQuery:
    """Start a stream with one batch per hour, into a table or into no sink."""
    rows = spark.readStream.format("rate").load().selectExpr(column)
    writer = rows.writeStream.trigger(processingTime="1 hour")
    return writer.toTable(table) if table else writer.format("noop").start()


def answer_late(_: str, need: Any) -> bool:
    """Allow everything, but delay the decisions on writes until other requests wait for theirs."""
    if need["action"] == "table.insert":
        time.sleep(3)
    return True


def finish_streams(*queries: StreamingQuery) -> None:
    for query in queries:
        query.stop()


def flights(spark: SparkSession) -> DataFrame:
    """Return the stream of a table."""
    return spark.readStream.table("lake.raw.flights")


class TestReads:
    """A streaming read needs the privilege to read, from its first analysis on."""

    def test_the_analysis_of_a_stream_is_authorized_without_an_operation(self, lake: DriverHarness) -> None:
        assert flights(lake.session(ADMIN)).isStreaming

        assert lake.decisions.names() == READS
        assert set(lake.decisions.operations) == {None}

    def test_a_stream_is_refused_to_a_user_without_the_right_to_read(self, lake: DriverHarness) -> None:
        spark = lake.session(READER)

        refused(lambda: flights(spark).isStreaming)
        refused(lambda: flights(spark).writeStream.format("memory").queryName("seen").start())

    def test_streams_of_unlisted_formats_or_options_or_without_a_schema_are_refused(self, lake: DriverHarness) -> None:
        spark = lake.session(ADMIN)

        refused(lambda: spark.readStream.schema("x string").format("orc").load("/etc").isStreaming)
        refused(lambda: spark.readStream.format("csv").load("/etc").isStreaming)
        refused(lambda: spark.readStream.schema("x string").option("cleanSource", "delete").csv("/etc").isStreaming)
        refused(lambda: spark.readStream.format("rate").option("path", "/etc").load().isStreaming)


class TestSinks:
    """A stream writes to a table of the lake, to memory or to no sink.

    Its checkpoints are in a folder that Headgate sets.
    """

    def test_a_stream_creates_and_fills_a_table(self, lake: DriverHarness) -> None:
        spark = lake.session(ADMIN)

        finished(flights(spark).writeStream.toTable("lake.trusted.sink"))

        made = {"database.create_table lake.trusted", "table.insert lake.trusted.sink"}
        assert lake.decisions.names() == READS | made
        assert spark.table("lake.trusted.sink").count() == 1

    @pytest.mark.parametrize("missing", ["table.select", "database.create_table", "table.insert"])
    def test_a_stream_into_a_table_is_refused_if_one_right_is_missing(self, lake: DriverHarness, missing: str) -> None:
        lake.decisions.rule = lambda _, need: need["action"] != missing
        spark, before = lake.session(READER), lake.files()

        refused(lambda: flights(spark).writeStream.toTable(f"lake.trusted.without_{missing.replace('.', '_')}"))

        if missing != "table.insert":  # a user who may create tables may create the empty table
            assert lake.files() == before

    def test_a_checkpoint_location_of_a_stream_needs_its_right(
        self, lake: DriverHarness, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        folder = tmp_path_factory.mktemp("checkpoints")
        lake.decisions.rule = lambda _, need: need["action"] != "path.checkpoint"
        writer = flights(lake.session(ADMIN)).writeStream.option("checkpointLocation", f"file://{folder}/mine")

        refused(lambda: writer.format("noop").start())

        assert list(folder.iterdir()) == []
        assert f"path.checkpoint file:{folder}/mine" in lake.decisions.names()

    def test_a_stream_is_explained_without_the_folder_of_its_state(self, lake: DriverHarness) -> None:
        rows = lake.session(ADMIN).readStream.format("rate-micro-batch").option("rowsPerBatch", 5).load()
        counted = rows.groupBy("value").count().writeStream.outputMode("complete").format("noop")
        query = counted.trigger(once=True).start()
        assert query.awaitTermination(60)
        printed = io.StringIO()

        with redirect_stdout(printed):
            query.explain(extended=True)

        assert "StateStoreSave" in printed.getvalue()
        assert "checkpoint = <hidden>" in printed.getvalue()
        assert "file:" not in printed.getvalue()

    def test_the_plan_of_a_stream_needs_the_right_to_read(self, lake: DriverHarness) -> None:
        lake.decisions.rule = lambda *_: True
        rows = lake.session(READER).readStream.table("lake.raw.flights")
        query = rows.writeStream.format("noop").trigger(once=True).start()
        assert query.awaitTermination(60)
        lake.decisions.rule = lambda *_: False

        refused(query.explain)

    def test_a_stream_into_the_console_is_refused(self, lake: DriverHarness) -> None:
        refused(lambda: flights(lake.session(ADMIN)).writeStream.format("console").start())

    def test_rows_of_a_stream_in_memory_are_authorized_at_every_read(self, lake: DriverHarness) -> None:
        spark = lake.session(ADMIN)
        finished(flights(spark).writeStream.format("memory").queryName("kept").start())
        assert spark.table("kept").count() == 1
        lake.decisions.rule = lambda *_: False

        refused(lambda: spark.table("kept").count())


class TestBounds:
    """Each active stream occupies threads in the driver until its user stops it."""

    def test_a_large_ended_stream_is_forgotten_and_a_small_one_is_not(self, lake: DriverHarness) -> None:
        spark = lake.session(READER, READER)
        small, large = start_rate_stream(spark), start_rate_stream(spark, column=LARGE)
        finish_streams(small, large)

        finish_streams(start_rate_stream(spark))

        assert small.exception() is None
        with pytest.raises(PySparkException, match="not found"):
            large.exception()

    @pytest.mark.soak
    def test_a_user_has_at_most_64_active_streams(self, lake: DriverHarness) -> None:
        first, second = lake.session(READER, READER), lake.session(READER, READER)
        queries = [start_rate_stream(session) for session in (first, second) for _ in range(32)]

        with pytest.raises(
            PySparkException,
            match="64 of your streaming queries are active, as many as one user may have; stop one of them",
        ) as caught:
            start_rate_stream(second)

        assert caught.value.getSqlState() == "54000"
        finish_streams(start_rate_stream(lake.session(ADMIN, ADMIN)), queries.pop())
        finish_streams(start_rate_stream(second), *queries)

    def test_the_plans_of_a_users_active_streams_are_bounded(self, lake: DriverHarness) -> None:
        spark = lake.session(READER, READER)
        query = start_rate_stream(spark, column=LARGE)

        with pytest.raises(
            PySparkException, match="your active streaming queries and the query to be started take more than"
        ) as caught:
            start_rate_stream(spark, column=LARGE)

        assert caught.value.getSqlState() == "54000"
        finish_streams(start_rate_stream(spark), query)
        finish_streams(start_rate_stream(spark, column=LARGE))

    def test_a_user_that_starts_many_streams_at_once_has_at_most_64(self, lake: DriverHarness) -> None:
        """Each stream counts from its start on, not only once it is active."""
        lake.session(ADMIN).sql("CREATE TABLE lake.trusted.rates (timestamp TIMESTAMP, value BIGINT)").collect()
        lake.decisions.rule = answer_late
        sessions = [lake.session(READER, READER) for _ in range(16)]

        def start(number: int) -> StreamingQuery | str:
            try:
                return start_rate_stream(sessions[number % len(sessions)], "lake.trusted.rates")
            except PySparkException as error:
                return str(error)

        with ThreadPoolExecutor(96) as pool:
            ended = list(pool.map(start, range(96)))
        finish_streams(*(query for query in ended if not isinstance(query, str)))

        refusals = [said for said in ended if isinstance(said, str)]
        assert len(refusals) == 32
        assert all("64 of your streaming queries are active" in said for said in refusals)


class TestFiles:
    """A stream of files in a folder that a user may read writes each file exactly once into a table."""

    def test_each_file_of_a_stream_is_read_once_across_restarts(self, lake: DriverHarness, tmp_path: Path) -> None:
        folder, checkpoint = tmp_path / "in", tmp_path / "progress"
        folder.mkdir()

        for n in range(2):
            (folder / f"{n}.csv").write_text(f"{n},x\n")
            files = lake.session(ADMIN).readStream.schema("n INT, word STRING").csv(str(folder))
            writer = files.writeStream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
            lake.decisions.asked.clear()
            query = writer.toTable("lake.trusted.from_files")
            assert query.awaitTermination(60)
            assert query.exception() is None

        rows = lake.session(ADMIN).table("lake.trusted.from_files").collect()
        assert sorted((row.n, row.word) for row in rows) == [(0, "x"), (1, "x")]
        written = {"table.insert lake.trusted.from_files", f"path.checkpoint file:{checkpoint}"}
        assert lake.decisions.names() >= {f"path.read file:{folder}", *written}

    def test_revoking_the_right_to_the_folder_ends_the_stream(self, lake: DriverHarness, tmp_path: Path) -> None:
        (tmp_path / "0.json").write_text('{"n": 0}')
        files = lake.session(ADMIN).readStream.schema("n INT").json(str(tmp_path))
        query = files.writeStream.format("noop").trigger(processingTime="100 milliseconds").start()
        query.processAllAvailable()
        lake.decisions.rule = lambda _, need: need["action"] != "path.read"

        (tmp_path / "1.json").write_text('{"n": 1}')

        assert ended(query), "the query still runs"

    def test_a_forged_log_among_the_files_of_a_stream_opens_no_other_file(
        self, lake: DriverHarness, tmp_path: Path
    ) -> None:
        folder, secret = tmp_path / "in", tmp_path / "secret.csv"
        (folder / "_spark_metadata").mkdir(parents=True)
        (folder / "own.csv").write_text("own\n")
        secret.write_text("secret\n")
        entry = {"path": secret.as_uri(), "size": 7, "isDir": False, "modificationTime": 1}
        line = json.dumps({**entry, "blockReplication": 1, "blockSize": 1024, "action": "add"})
        (folder / "_spark_metadata" / "0").write_text(f"v1\n{line}")
        spark = lake.session(ADMIN)

        batch = spark.read.schema("word STRING").csv(str(folder)).collect()
        stream = spark.readStream.schema("word STRING").csv(str(folder))
        finished(stream.writeStream.format("memory").queryName("laid").start())

        assert [row.word for row in batch] == [row.word for row in spark.table("laid").collect()] == ["own"]


class TestRevoke:
    """A running stream is authorized at every batch, under an operation by which it can be stopped."""

    def test_the_next_batch_of_a_stream_after_a_revoke_ends_it(self, lake: DriverHarness) -> None:
        spark = lake.session(ADMIN)
        spark.sql("CREATE TABLE lake.raw.streamed AS SELECT 1 AS a").collect()
        query = spark.readStream.table("lake.raw.streamed").writeStream.format("noop").start()
        query.processAllAvailable()
        assert f"stream:{query.id}" in lake.decisions.operations
        lake.decisions.rule = lambda _, need: need["action"] != "table.select"

        spark.sql("INSERT INTO lake.raw.streamed VALUES (2)").collect()

        assert ended(query), "the query still runs"
        assert "42501" in str(query.exception()) or "may not do that" in str(query.exception())


def ended(query: StreamingQuery, seconds: float = 30) -> bool:
    """Return whether a query ends within the time limit."""
    deadline = time.monotonic() + seconds
    while query.isActive and time.monotonic() < deadline:
        time.sleep(0.1)
    return not query.isActive
