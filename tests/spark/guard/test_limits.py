"""Limits of one statement: its depth, its size, and its share of resources."""

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.connect.proto import Plan, Relation
from pyspark.sql.connect.session import SparkSession as ConnectSession

from headgate.spark.gateway.admission import build_inspector
from headgate.spark.toolchain.prepare import Toolchain
from tests.spark.guard.attempts import SHORT_TASKS, SOON, STRANGER, Attempt, open_as
from tests.spark.guard.driver_harness import ADMIN, DriverHarness, world
from tests.spark.guard.heavy_statements import CROSS, FEW, HEAVY, MANY_CALLS

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

TOO_LARGE, TOO_COMPLEX, ENDED = "54000", "54001", "57014"
SAID = {TOO_LARGE: ("keeps more rows at once", "broadcasts more than"), ENDED: ("run out of memory",)}
"""The reason why a statement that fills the heap ends.

It fails at its own next row or, on a busy machine, the memory watch ends it before that.
"""
ENDLESS = CROSS.replace("range(1000000)", "range(0, 1000000, 1, 1)")
"""The same query in one task, so that a processor is left for other statements."""
STEADY = "hgs_steady"
"""A user none of whose statements was ended."""
WRITE_FIRST = "write the rows to a table first"
DOUBLED = "SELECT id AS a FROM range(10)"
for _ in range(30):
    DOUBLED = f"SELECT a + a AS a FROM ({DOUBLED})"
WITH_DOUBLED = ", ".join(
    ["a0 AS (SELECT id AS a FROM range(9))"] + [f"a{n} AS (SELECT a + a AS a FROM a{n - 1})" for n in range(1, 30)]
)


class TestFairness:
    """Long tasks of one principal yield to those of another."""

    @pytest.mark.parametrize(
        "kind", [*FEW, *(pytest.param(kind, marks=pytest.mark.soak, id=f"soak-{kind}") for kind in HEAVY)]
    )
    def test_another_user_is_answered_soon_beside_a_heavy_statement(self, lake: DriverHarness, kind: str) -> None:
        other, stranger = open_as(lake, ADMIN), open_as(lake, STRANGER)
        other.sql("SELECT count(*) FROM lake.raw.flights").collect()
        heavy = Attempt(lambda: stranger.sql(HEAVY[kind]).collect())
        time.sleep(2)

        begun = time.monotonic()
        answer = other.sql("SELECT count(*) FROM lake.raw.flights").collect()

        assert answer[0][0] == 1
        assert time.monotonic() - begun < 2 * SOON
        stranger.interruptAll()
        assert heavy.wait(SOON)

    def test_another_user_is_answered_soon_beside_cached_rows(self, lake: DriverHarness) -> None:
        other, stranger = open_as(lake, ADMIN), open_as(lake, STRANGER)
        cached = stranger.sql("SELECT id, cast(id AS STRING) AS text FROM range(0, 200000, 1, 2)").cache()
        cached.count()
        heavy = Attempt(lambda: cached.where(MANY_CALLS).groupBy().count().collect())
        time.sleep(5)

        stranger.interruptAll()

        assert heavy.wait(SOON)
        assert other.sql("SELECT count(*) FROM lake.raw.flights").collect()[0][0] == 1
        cached.unpersist()

    def test_the_error_of_an_ended_statement_says_that_other_users_waited(self, lake: DriverHarness) -> None:
        other, stranger = open_as(lake, ADMIN), open_as(lake, STRANGER)
        heavy, begun = Attempt(lambda: stranger.sql(CROSS).collect()), time.monotonic()

        while not heavy.wait(0.5) and time.monotonic() - begun < 3 * SOON:
            other.sql("SELECT count(*) FROM lake.raw.flights").collect()

        assert heavy.wait(SOON)
        assert heavy.state == ENDED
        assert "more than 5 s while statements of other users waited" in heavy.message

    @pytest.mark.soak
    def test_a_statement_of_short_tasks_is_not_ended(self, lake: DriverHarness) -> None:
        other, stranger = open_as(lake, ADMIN), open_as(lake, STRANGER)
        job = Attempt(lambda: stranger.sql(SHORT_TASKS).collect())

        while not job.wait(0.5):
            other.sql("SELECT count(*) FROM lake.raw.flights").collect()

        assert job.state is None, job.message

    @pytest.mark.soak
    def test_a_statement_is_not_ended_for_a_time_in_which_the_driver_is_suspended(self, lake: DriverHarness) -> None:
        """A driver is suspended when its machine is suspended or busy with other work."""
        other, steady = open_as(lake, ADMIN), open_as(lake, STEADY)
        count = "SELECT count(*) FROM range(0, {}, 1, 4) WHERE hash(id) = 1"
        for session, statement in ((other, "SELECT count(*) FROM lake.raw.flights"), (steady, count.format(10))):
            session.sql(statement).collect()
        job = Attempt(lambda: steady.sql(count.format(900_000_000)).collect())
        time.sleep(0.5)
        waiting = Attempt(lambda: other.sql("SELECT count(*) FROM lake.raw.flights").collect())
        time.sleep(0.5)
        assert not job.wait(0)
        assert lake.driver.pid is not None

        for _ in range(3):
            os.kill(lake.driver.pid, signal.SIGSTOP)
            time.sleep(6)
            os.kill(lake.driver.pid, signal.SIGCONT)
            time.sleep(0.5)

        assert waiting.wait(SOON)
        assert job.wait(2 * SOON)
        assert job.message == ""


class TestSize:
    """A statement that is too large is refused before the driver works on it."""

    @pytest.mark.parametrize(
        ("statement", "advice"),
        [
            (" UNION ALL ".join(["SELECT 1"] * 3000), "split it"),
            ("SELECT " + "(" * 20000 + "1" + ")" * 20000, "split it"),
            (HEAVY["doubled common table expressions"], "use the expressions less often"),
            (f"SELECT count(*) FROM ({DOUBLED}) WHERE a > 0", WRITE_FIRST),
            (f"SELECT count(*) FROM range(3) r JOIN ({DOUBLED}) d ON r.id = d.a", WRITE_FIRST),
            (f"SELECT count(*) FROM (SELECT 1L AS a UNION ALL {DOUBLED}) WHERE a > 0", WRITE_FIRST),
            (f"WITH {WITH_DOUBLED} SELECT count(*) FROM a29 WHERE a > 0", WRITE_FIRST),
        ],
        ids=["unions", "parentheses", "expansion", "filter", "join", "union", "columns of common table expressions"],
    )
    def test_a_statement_that_is_too_large_is_refused_in_words(
        self, lake: DriverHarness, statement: str, advice: str
    ) -> None:
        with pytest.raises(PySparkException) as caught:
            lake.session(ADMIN).sql(statement).collect()

        assert caught.value.getSqlState() == TOO_COMPLEX, caught.value
        assert advice in str(caught.value)

    @pytest.mark.parametrize(
        "statement",
        [
            f"SELECT count(*) FROM ({' UNION ALL '.join(['SELECT id FROM range(0, 1, 1, 10000)'] * 12)})",
            "SELECT /*+ SHUFFLE_REPLICATE_NL(a) */ count(*) FROM range(0, 400, 1, 400) a JOIN range(0, 400, 1, 400) b ON a.id < b.id",
        ],
        ids=["union", "product"],
    )
    def test_a_statement_of_too_many_tasks_is_refused_in_words(self, lake: DriverHarness, statement: str) -> None:
        with pytest.raises(PySparkException, match="task") as caught:
            lake.session(ADMIN).sql(statement).collect()

        assert caught.value.getSqlState() == TOO_LARGE, caught.value

    def test_a_dataframe_that_is_too_deep_is_refused_with_a_sentence(self, lake: DriverHarness) -> None:
        build_inspector().shutdown()  # lets this process write messages as deep as the gateway's
        relation = Relation()
        relation.range.end = relation.range.step = 1
        for number in range(500):  # two messages each; the gateway allows a depth of 1,024
            inner, relation = relation, Relation()
            relation.limit.limit = number + 1
            relation.limit.input.CopyFrom(inner)
        spark = lake.session(ADMIN)
        assert isinstance(spark, ConnectSession)

        with pytest.raises(PySparkException) as caught:
            spark.client.to_table(Plan(root=relation), {})

        assert caught.value.getSqlState() == TOO_COMPLEX, caught.value

    def test_a_dataframe_of_many_steps_is_answered(self, lake: DriverHarness) -> None:
        # Without the larger stack of the driver's threads, this statement fails with an error without a message.
        frame = lake.session(ADMIN).range(1)
        for number in range(400):
            frame = frame.limit(number + 1)

        assert frame.count() == 1

    @pytest.mark.parametrize("length", [100, pytest.param(200, marks=pytest.mark.soak)])
    def test_ordinary_long_statements_and_dataframes_are_answered(self, lake: DriverHarness, length: int) -> None:
        admin = lake.session(ADMIN)
        steps = admin.range(3)
        for number in range(length):
            steps = steps.withColumn(f"c{number}", sf.col("id") + number)
        filters = admin.range(3)
        for number in range(length):
            filters = filters.filter(sf.col("id") != -number - 1)

        doubled = admin.range(3)
        for _ in range(30):
            doubled = doubled.withColumn("id", sf.col("id") + sf.col("id"))

        assert len(doubled.collect()) == 3
        assert len(steps.collect()[0]) == length + 1
        assert filters.count() == 3
        unions, conditions = length * 3 // 2, length * 10
        assert admin.sql(" UNION ALL ".join(["SELECT 1 AS x"] * unions)).count() == unions
        assert admin.sql("SELECT 1 WHERE " + " AND ".join(f"{n} = {n}" for n in range(conditions))).count() == 1
        assert admin.sql("SELECT " + "(" * 100 + "1" + ")" * 100).collect()[0][0] == 1

    def test_a_filter_of_many_calls_is_answered_and_the_driver_lives(self, lake: DriverHarness) -> None:
        # Spark's compiler would fill the heap with tables of the filter's variables.
        generation = lake.driver.generation

        assert lake.session(ADMIN).sql(f"SELECT id FROM range(10) WHERE {MANY_CALLS}").count() == 10
        assert lake.driver.generation == generation


@pytest.fixture(scope="module")
def small(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DriverHarness]:
    """Return a driver without tables whose statements may run for 15 seconds."""
    with world(toolchain, tmp_path_factory.mktemp("limits"), is_filled=False, statement_seconds=15) as made:
        yield made


def leave_running(query: str) -> str:
    """Return a statement that continues with a query of one value after its end.

    Spark answers as soon as it knows that one side of the join is empty; the subquery of the other side continues.
    """
    empty = "SELECT id, count(*) AS c FROM range(0, 100, 1, 2) WHERE id < 0 GROUP BY id"
    other = f"SELECT id % 7 AS id, count(*) AS n FROM range(0, 1000, 1, 2) WHERE id > ({query}) GROUP BY id % 7"
    return f"SELECT * FROM ({empty}) JOIN ({other}) USING (id)"


class TestOperatorsLimits:
    """Limits for every statement: those that an operator sets, and those that follow from the size of the heap."""

    def test_a_statement_that_runs_too_long_is_ended(self, small: DriverHarness) -> None:
        with pytest.raises(PySparkException) as caught:
            small.session(ADMIN).sql(CROSS).collect()

        assert caught.value.getSqlState() == ENDED
        assert "more than 15.0 s" in str(caught.value)

    def test_an_endless_regular_expression_of_constants_is_ended(self, small: DriverHarness) -> None:
        with pytest.raises(PySparkException) as caught:
            small.session(ADMIN).sql(r"SELECT rlike(repeat('x', 60), r'(x+x+)+y\1')").collect()

        assert caught.value.getSqlState() == ENDED

    def test_a_regular_expression_that_exhausts_the_stack_does_not_end_the_driver(self, small: DriverHarness) -> None:
        generation = small.driver.generation
        for text in ("repeat('ab', 1000000)", "concat(repeat('ab', 1000000), id)"):
            with pytest.raises(PySparkException) as caught:
                small.session(ADMIN).sql(f"SELECT count(*) FROM range(2) WHERE rlike({text}, '(a|b)*c')").collect()

            assert caught.value.getSqlState() == TOO_COMPLEX, caught.value
        assert small.driver.generation == generation

    @pytest.mark.soak
    def test_a_job_of_an_analysis_that_runs_too_long_is_ended(self, small: DriverHarness) -> None:
        slow = small.session(ADMIN).sql("SELECT id AS k, hash(id) AS v FROM range(100000000000)")

        begun = time.monotonic()
        with pytest.raises(PySparkException):
            _ = slow.groupBy().pivot("k").sum("v").columns

        assert time.monotonic() - begun < 15 + 2 * SOON

    @pytest.mark.parametrize(
        "begin", [lambda rows: rows.collect(), lambda rows: rows.transpose().columns], ids=["statement", "analysis"]
    )
    def test_a_job_is_ended_if_no_statement_reads_its_rows(
        self, small: DriverHarness, begin: Callable[[DataFrame], Any]
    ) -> None:
        logged = len(small.log())

        begin(small.session(ADMIN).sql(leave_running(ENDLESS)))

        wait_for_an_end(small, logged)

    @pytest.mark.soak
    def test_cached_rows_can_be_read_after_the_job_that_computed_them_is_ended(self, lake: DriverHarness) -> None:
        spark, logged = lake.session(ADMIN), len(lake.log())
        spark.sql(
            "CACHE LAZY TABLE kept AS SELECT hash(id) % 7 AS k, count(*) AS n FROM range(0, 150000000, 1, 1) GROUP BY 1"
        )
        spark.sql(leave_running("SELECT max(n) FROM kept")).collect()
        wait_for_an_end(lake, logged)

        assert [spark.sql("SELECT sum(n) FROM kept").collect()[0][0] for _ in range(2)] == [150_000_000] * 2

    @pytest.mark.soak
    def test_a_statement_that_shares_a_stage_with_an_ended_job_goes_on(self, lake: DriverHarness) -> None:
        spark, generation, logged = lake.session(ADMIN), lake.driver.generation, len(lake.log())
        spark.conf.set("spark.sql.adaptive.enabled", "false")
        spark.sql(
            f"CACHE LAZY TABLE shared AS SELECT hash(id) % 7 AS k, count(*) AS n FROM range(0, {10**15}, 1, 1) GROUP BY 1"
        )
        spark.conf.set("spark.sql.adaptive.enabled", "true")
        spark.sql(leave_running("SELECT max(n) FROM shared")).collect()
        sharing = Attempt(lambda: spark.sql("SELECT sum(n) FROM shared").collect())
        wait_for_an_end(lake, logged)

        assert not sharing.wait(2 * SOON)
        assert lake.driver.generation == generation
        spark.interruptAll()
        assert sharing.wait(SOON)


def wait_for_an_end(lake: DriverHarness, logged: int) -> None:
    """Wait until the driver has ended a job whose rows no statement reads, and has logged it after `logged`."""
    until = time.monotonic() + 2 * SOON
    while not re.search("headgate: cancelled the jobs .*that started it has finished", lake.log()[logged:]):
        assert time.monotonic() < until, "the job still runs"
        time.sleep(0.5)


def assert_refused_and_alive(lake: DriverHarness, statement: str) -> None:
    """Require that a statement that fills the heap ends with a message, and that the driver continues."""
    spark, generation = lake.session(ADMIN), lake.driver.generation

    with pytest.raises(PySparkException) as caught:
        spark.sql(statement).collect()

    state, message = caught.value.getSqlState(), str(caught.value)
    assert state in SAID, message
    assert any(each in message for each in SAID[state]), message
    assert spark.sql("SELECT 1").collect()[0][0] == 1
    assert lake.driver.generation == generation


ROWS = "FROM range(1000000000)"
GROWING = {
    "list": f"SELECT size(collect_list(id)) {ROWS}",
    "list of texts": f"SELECT size(collect_list(concat(id, 'some text', id))) {ROWS}",
    "lists of groups": f"SELECT max(size(l)) FROM (SELECT collect_list(id) AS l {ROWS} GROUP BY id % 100)",
    "merged lists": "SELECT size(collect_list(id)) FROM range(0, 100000000, 1, 500)",
    "set": f"SELECT size(collect_set(id)) {ROWS}",
    "percentile": f"SELECT percentile(id, 0.5) {ROWS}",
    "percentile within group": f"SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY id) {ROWS}",
    "approximate percentile": f"SELECT approx_percentile(id, 0.5, 2147483647) {ROWS}",
    "mode": f"SELECT mode(id) {ROWS}",
    "joined texts": f"SELECT length(listagg(id, ',') WITHIN GROUP (ORDER BY id DESC)) {ROWS}",
    "histogram": f"SELECT size(histogram_numeric(id, 1000000000)) {ROWS}",
    "most frequent": f"SELECT size(approx_top_k(repeat(cast(id AS STRING), 1000), 5, 1000000)) {ROWS}",
}

QUICKEST = "most frequent"
"""The kind that `make test` tries; the others take longer."""


class TestAggregates:
    """A statement whose aggregation state grows with its rows ends before the state fills the heap."""

    @pytest.mark.parametrize(
        "kind", [QUICKEST, *(pytest.param(kind, marks=pytest.mark.soak) for kind in GROWING if kind != QUICKEST)]
    )
    def test_an_aggregate_that_fills_the_heap_is_refused_without_harm(self, lake: DriverHarness, kind: str) -> None:
        assert_refused_and_alive(lake, GROWING[kind])

    @pytest.mark.soak
    def test_an_exact_quantile_of_too_many_rows_is_refused(self, lake: DriverHarness) -> None:
        with pytest.raises(PySparkException) as caught:
            lake.session(ADMIN).range(1000000000).approxQuantile("id", [0.5], 0.0)

        assert caught.value.getSqlState() == TOO_LARGE, caught.value

    def test_every_bounded_aggregate_returns_its_value(self, lake: DriverHarness) -> None:
        spark = lake.session(ADMIN)
        spark.sql(
            "CREATE OR REPLACE TEMPORARY VIEW grouped AS SELECT id, id % 300 AS k, cast(id % 7 AS STRING) AS t "
            "FROM range(0, 30000, 1, 5)"
        ).collect()

        row = spark.sql(
            "SELECT sum(a), sum(b), sum(c), sum(d), max(e), max(f), max(g), sum(h), max(i) FROM ("
            "SELECT size(collect_list(id)) AS a, size(collect_set(t)) AS b, size(collect_list(DISTINCT t)) AS c, "
            "percentile(id, 0.5) AS d, listagg(t, ',') WITHIN GROUP (ORDER BY t) AS e, mode(t) AS f, "
            "listagg(t, '') WITHIN GROUP (ORDER BY id DESC) AS g, size(array_agg(id) FILTER (WHERE id < 300)) AS h, "
            "percentile_cont(0.5) WITHIN GROUP (ORDER BY id) AS i FROM grouped GROUP BY k)"
        ).collect()[0]
        window = spark.sql(
            "SELECT sum(size(l)) FROM (SELECT collect_list(id) OVER (PARTITION BY k ORDER BY id) AS l FROM grouped)"
        ).collect()

        distinct = spark.sql("SELECT listagg(DISTINCT t, ',') WITHIN GROUP (ORDER BY t) FROM grouped").collect()

        assert tuple(row[:4]) == (30000, 2100, 2100, 300 * 14999.5)
        assert (len(row[4]), len(row[6]), row[7], row[8]) == (199, 100, 300, 15149.0)
        assert distinct[0][0] == "0,1,2,3,4,5,6"
        assert window[0][0] == 300 * sum(range(1, 101))
        assert spark.sql("SELECT collect_list(id), median(id) FROM grouped WHERE id < 0").collect()[0][:] == ([], None)
        assert spark.table("grouped").approxQuantile("id", [0.5], 0.0) == [14999.0]

    @pytest.mark.soak
    @pytest.mark.parametrize("groups", [500_000, 1_000_000])
    def test_many_small_aggregates_may_be_large_together(self, lake: DriverHarness, groups: int) -> None:
        many = (
            f"SELECT max(size(l)) FROM (SELECT collect_list(id) AS l FROM range({5 * groups}) GROUP BY id % {groups})"
        )

        assert lake.session(ADMIN).sql(many).collect()[0][0] == 5


class TestResults:
    """A result is limited while its tasks produce it, not only after they have sent it."""

    @pytest.mark.parametrize(
        "statement",
        [
            "SELECT repeat('x', 1000000) FROM range(100000)",
            "SELECT repeat('x', 1000000) FROM range(0, 100000, 1, 1)",
        ],
    )
    def test_a_result_that_is_too_large_is_refused_and_the_driver_lives(
        self, lake: DriverHarness, statement: str
    ) -> None:
        spark = lake.session(ADMIN)
        with pytest.raises(PySparkException) as caught:
            spark.sql(statement).collect()
        assert caught.value.getSqlState() == TOO_LARGE, caught.value
        assert spark.sql("SELECT 1").collect()[0][0] == 1

    def test_rows_that_are_written_or_counted_do_not_count_as_a_result(self, lake: DriverHarness) -> None:
        spark = lake.session(ADMIN)
        rows = "SELECT repeat(uuid(), 30000) AS x FROM range(400)"
        assert spark.sql(f"SELECT sum(length(x)) FROM ({rows})").collect()[0][0] == 400 * 30000 * 36
        spark.sql(f"CREATE TABLE lake.raw.large_rows AS {rows}").collect()
        assert spark.table("lake.raw.large_rows").count() == 400
        spark.sql("DROP TABLE lake.raw.large_rows").collect()

    def test_rows_that_are_cached_do_not_count_as_a_result(self, lake: DriverHarness) -> None:
        spark = lake.session(ADMIN)
        spark.sql("CACHE TABLE kept AS SELECT concat(repeat('x', 1000000), id) AS x FROM range(0, 200, 1, 1)").collect()

        assert spark.table("kept").selectExpr("sum(length(x))").collect()[0][0] > 200 * 1000000

        spark.sql("UNCACHE TABLE kept").collect()


LARGE = "concat(repeat('x', 1000000), id)"
KEPT = {
    "window": f"SELECT max(r) FROM (SELECT row_number() OVER (ORDER BY s) AS r FROM (SELECT {LARGE} AS s FROM range(2000)))",
    "join": f"SELECT /*+ MERGE(b) */ count(*) FROM (SELECT id % 1 AS k, id AS x FROM range(20)) a "
    f"JOIN (SELECT id % 1 AS k, {LARGE} AS s FROM range(3000)) b ON a.k = b.k AND length(a.x) < length(b.s)",
    "broadcast": f"SELECT count(*) FROM (SELECT {LARGE} AS s FROM range(1000)) a JOIN (SELECT {LARGE} AS s FROM range(1000)) b ON a.s = b.s",
}


class TestKeptRows:
    """Rows that an operator buffers are limited by their size, not by their number."""

    @pytest.mark.parametrize(
        "kind", [kind if kind == "join" else pytest.param(kind, marks=pytest.mark.soak) for kind in KEPT]
    )
    def test_an_operator_that_fills_the_heap_is_refused_without_harm(self, lake: DriverHarness, kind: str) -> None:
        assert_refused_and_alive(lake, KEPT[kind])

    def test_a_join_of_many_rows_with_one_key_is_answered(self, lake: DriverHarness) -> None:
        joined = lake.session(ADMIN).sql(
            "SELECT /*+ MERGE(b) */ count(*), max(a.x + b.y) FROM (SELECT id % 1 AS k, id AS x FROM range(3)) a "
            "JOIN (SELECT id % 1 AS k, id AS y FROM range(1000000)) b ON a.k = b.k"
        )

        assert tuple(joined.collect()[0]) == (3000000, 1000001)
