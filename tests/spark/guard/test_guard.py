"""The guard inside a real driver: its requests for decisions, its refusals, and that a refusal changes nothing."""

import asyncio
import time
from contextlib import suppress

import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import functions as sf

from headgate.spark.driver.guard_probe import require_token_enforced
from tests.spark.guard.driver_harness import ADMIN, IDLE_SECONDS, REFUSED, DriverHarness

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

READER = "hgs_reader"


def refusal(lake: DriverHarness, handle: str | None, statement: str) -> str:
    """Return the message with which the guard refuses the statement; fail if the guard does not refuse it."""
    before = lake.files()
    with pytest.raises(PySparkException) as caught:
        lake.session(handle).sql(statement).collect()
    assert caught.value.getSqlState() == REFUSED, caught.value
    assert lake.files() == before
    return str(caught.value)


class TestWhoAsks:
    """A session without a signed principal has no privilege."""

    def test_an_unsigned_session_is_refused_everything(self, lake: DriverHarness) -> None:
        assert "not opened through the Headgate gateway" in refusal(lake, None, "SELECT 1")
        assert lake.decisions.asked == []

    def test_a_call_without_the_token_of_the_driver_is_not_answered(self, lake: DriverHarness) -> None:
        asyncio.run(require_token_enforced(lake.driver.address))

    def test_a_principal_that_another_key_signed_is_refused(self, lake: DriverHarness) -> None:
        spark = lake.session(None)
        spark.conf.set("headgate.principal.token", f"{ADMIN}.{'0' * 64}")

        with pytest.raises(PySparkException) as caught:
            spark.sql("SELECT 1").collect()

        assert caught.value.getSqlState() == REFUSED

    def test_a_refusal_shows_the_text_of_the_decision_service_only(self, lake: DriverHarness) -> None:
        assert refusal(lake, READER, "SELECT * FROM lake.raw.flights") == f"{READER} may not do that"

    def test_a_statement_is_decided_after_the_decision_service_has_closed_its_idle_connections(
        self, lake: DriverHarness
    ) -> None:
        lake.session(ADMIN).table("lake.raw.flights").collect()
        time.sleep(IDLE_SECONDS + 1)
        lake.decisions.asked.clear()

        lake.session(ADMIN).table("lake.raw.flights").collect()

        assert lake.decisions.names() == {"table.select lake.raw.flights"}

    def test_a_statement_is_refused_if_the_decision_service_does_not_answer(self, lake: DriverHarness) -> None:
        lake.decisions.is_down = True

        assert "cannot be decided" in refusal(lake, ADMIN, "SELECT * FROM lake.raw.flights")


READS = {
    "SELECT carrier FROM lake.raw.flights": {"raw.flights"},
    "SELECT 1 FROM lake.secret.salaries WHERE amount > 500": {"secret.salaries"},
    "SELECT count(*) FROM lake.secret.salaries": {"secret.salaries"},
    "SELECT carrier FROM lake.raw.flights ORDER BY (SELECT count(*) FROM lake.secret.salaries)": {
        "raw.flights",
        "secret.salaries",
    },
    "SELECT 1 FROM lake.raw.flights WHERE EXISTS (SELECT 1 FROM lake.secret.salaries)": {
        "raw.flights",
        "secret.salaries",
    },
    "WITH flights AS (SELECT * FROM lake.secret.salaries) SELECT * FROM flights": {"secret.salaries"},
    "WITH unused AS (SELECT * FROM lake.secret.salaries) SELECT * FROM lake.raw.flights": {
        "raw.flights",
        "secret.salaries",
    },
    "SELECT * FROM lake.secret.salaries.files": {"secret.salaries"},
    "SELECT * FROM lake.secret.salaries VERSION AS OF 1": {"secret.salaries"},
    "SELECT 1": set[str](),
}


class TestReads:
    """The guard requests a decision for every table of a query, whichever part of the table the query uses."""

    @pytest.mark.parametrize("statement", READS)
    def test_a_read_needs_the_right_to_read_every_table(self, lake: DriverHarness, statement: str) -> None:
        spark = lake.session(ADMIN)
        with suppress(PySparkException):  # the snapshot does not exist; the privilege is required all the same
            spark.sql(statement).collect()

        assert lake.decisions.names() == {f"table.select lake.{table}" for table in READS[statement]}

    @pytest.mark.parametrize("statement", [statement for statement, tables in READS.items() if tables])
    def test_a_read_of_a_user_without_rights_is_refused(self, lake: DriverHarness, statement: str) -> None:
        refusal(lake, READER, statement)

    def test_a_query_of_two_tables_needs_the_right_to_read_both(self, lake: DriverHarness) -> None:
        lake.decisions.rule = lambda _, need: need["object"] == ["lake", "raw", "flights"]

        refusal(lake, READER, "SELECT carrier FROM lake.raw.flights UNION ALL SELECT emp FROM lake.secret.salaries")

    def test_a_temporary_view_is_authorized_at_every_use(self, lake: DriverHarness) -> None:
        lake.decisions.rule = lambda *_: True
        spark = lake.session(READER)
        spark.sql("CREATE TEMPORARY VIEW seen AS SELECT * FROM lake.secret.salaries").collect()
        spark.table("lake.secret.salaries").createOrReplaceTempView("seen_too")
        spark.table("seen").collect()
        lake.decisions.rule = lambda *_: False

        for view in ("seen", "seen_too"):
            with pytest.raises(PySparkException) as caught:
                spark.table(view).collect()
            assert caught.value.getSqlState() == REFUSED

    def test_an_error_names_columns_only_to_a_user_with_the_right_to_read(self, lake: DriverHarness) -> None:
        assert "amount" not in refusal(lake, READER, "SELECT amout FROM lake.secret.salaries")

    def test_a_hidden_table_is_refused_like_a_missing_one(self, lake: DriverHarness) -> None:
        hidden = refusal(lake, READER, "SELECT * FROM lake.secret.salaries")

        assert hidden == refusal(lake, READER, "SELECT * FROM lake.secret.nothing")


WRITES = {
    "INSERT INTO lake.trusted.delays VALUES ('BB', 2.0D)": {"table.insert lake.trusted.delays"},
    "INSERT OVERWRITE lake.trusted.delays SELECT carrier, 1.0D FROM lake.raw.flights": {
        "table.insert lake.trusted.delays",
        "table.delete_rows lake.trusted.delays",
        "table.select lake.raw.flights",
    },
    "CREATE TABLE lake.trusted.copy AS SELECT * FROM lake.raw.flights": {
        "database.create_table lake.trusted",
        "table.select lake.raw.flights",
    },
    "CREATE OR REPLACE TABLE lake.trusted.copy AS SELECT 1 AS a": {
        "database.create_table lake.trusted",
        "table.drop lake.trusted.copy",
    },
    "CREATE TABLE IF NOT EXISTS lake.trusted.empty (a INT)": {"database.create_table lake.trusted"},
    "DROP TABLE lake.trusted.copy": {"table.drop lake.trusted.copy"},
    "DROP TABLE IF EXISTS lake.trusted.nothing": {"table.drop lake.trusted.nothing"},
}


class TestWrites:
    """A write needs the privilege of its change of the target, and the privilege to read its sources."""

    @pytest.mark.parametrize("statement", WRITES)
    def test_a_write_of_a_user_without_rights_is_refused(self, lake: DriverHarness, statement: str) -> None:
        refusal(lake, READER, statement)

    def test_each_write_needs_the_rights_for_its_target_and_sources(self, lake: DriverHarness) -> None:
        spark = lake.session(ADMIN)
        for statement, needs in WRITES.items():
            lake.decisions.asked.clear()
            spark.sql(statement).collect()
            assert lake.decisions.names() == needs, statement

    def test_dataframe_writes_are_authorized_before_the_table_is_looked_up(self, lake: DriverHarness) -> None:
        frame = lake.session(READER).range(1)
        for write in (
            lambda: frame.write.mode("append").saveAsTable("lake.secret.salaries"),
            lambda: frame.write.insertInto("lake.secret.nothing"),
            lambda: frame.writeTo("lake.secret.salaries").append(),
            lambda: frame.writeTo("lake.secret.mine").create(),
        ):
            with pytest.raises(PySparkException) as caught:
                write()
            assert caught.value.getSqlState() == REFUSED


FORBIDDEN = (
    "SET spark.sql.catalog.evil = org.apache.iceberg.spark.SparkCatalog",
    "SET headgate.principal.token = x",
    "CREATE TABLE lake.trusted.ext (a INT) LOCATION '/tmp/x'",
    "CREATE TABLE lake.trusted.ext (a INT) TBLPROPERTIES ('write.data.path' = '/tmp/x')",
    "CREATE TABLE lake.trusted.ext (a INT) OPTIONS (path '/tmp/x')",
    "CREATE GLOBAL TEMPORARY VIEW gv AS SELECT 1",
    "SELECT * FROM global_temp.gv",
    "SELECT * FROM spark_catalog.secret.salaries",
    "SELECT * FROM parquet.`/tmp/x`",
    "SELECT * FROM lake.`/tmp/x`",
    "CREATE TEMPORARY VIEW pv USING csv OPTIONS (path '/tmp/x')",
    "SELECT reflect('java.lang.System', 'getProperty', 'user.name')",
    "SELECT * FROM VALUES (reflect('java.lang.System', 'getProperty', 'user.name'))",
    "SELECT TRANSFORM (carrier) USING 'cat' AS (x STRING) FROM lake.raw.flights",
    "SELECT * FROM python_worker_logs()",
    "USE spark_catalog",
)


class TestForbidden:
    """Statements that no user may run, whatever roles the user holds."""

    @pytest.mark.parametrize("statement", FORBIDDEN)
    def test_a_forbidden_statement_is_refused_even_to_the_admin(self, lake: DriverHarness, statement: str) -> None:
        refusal(lake, ADMIN, statement)

    def test_user_code_is_refused_even_to_the_admin(self, lake: DriverHarness) -> None:
        spark = lake.session(ADMIN)

        with pytest.raises(PySparkException) as caught:
            spark.range(1).mapInPandas(lambda frames: frames, "id long").collect()

        assert caught.value.getSqlState() == REFUSED


class TestFiles:
    """The guard requests a decision for a path before Spark accesses it."""

    def test_reading_a_file_needs_the_right_to_its_path(
        self, lake: DriverHarness, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        folder = tmp_path_factory.mktemp("files")
        (folder / "a.csv").write_text("x\n1\n")
        spark = lake.session(ADMIN)

        rows = spark.read.schema("x int").option("header", "true").csv(str(folder / "a.csv")).collect()

        assert [row.x for row in rows] == [1]
        assert lake.decisions.names() == {f"path.read file:{folder}/a.csv"}

    def test_a_path_is_refused_whether_or_not_it_exists(self, lake: DriverHarness) -> None:
        spark = lake.session(READER)
        for path in ("/etc/passwd", "/no/such/file"):
            with pytest.raises(PySparkException) as caught:
                spark.read.schema("x string").csv(path).collect()
            assert caught.value.getSqlState() == REFUSED


class TestOrdinaryQueries:
    """Ordinary queries pass."""

    def test_ordinary_dataframe_operations_run(self, lake: DriverHarness) -> None:
        spark = lake.session(ADMIN)
        frame = spark.table("lake.raw.flights").withColumn("n", sf.lit(1))

        assert frame.groupBy("carrier").agg(sf.sum("n").alias("n")).orderBy("carrier").collect()[0].n == 1
        assert frame.groupBy("carrier").pivot("year").count().columns == ["carrier", "2012"]
        assert frame.describe().count() == 5
        assert frame.toPandas().shape == (1, 3)
        frame.show()

    @pytest.mark.parametrize(
        "statement",
        [
            "USE lake.raw",
            "SHOW TABLES IN lake.raw",
            "SHOW NAMESPACES IN lake",
            "DESCRIBE TABLE lake.raw.flights",
            "SET TIME ZONE 'UTC'",
            "SELECT current_catalog(), current_date()",
            "SELECT * FROM range(3)",
        ],
    )
    def test_ordinary_statements_run(self, lake: DriverHarness, statement: str) -> None:
        lake.session(ADMIN).sql(statement).collect()

    @pytest.mark.parametrize("text", ["${env:PATH}", "${system:user.name}", "${headgate.principal.token}"])
    def test_variables_in_the_text_of_a_statement_are_not_substituted(self, lake: DriverHarness, text: str) -> None:
        (row,) = lake.session(ADMIN).sql(f"SELECT '{text}' AS text").collect()

        assert row.text == text
