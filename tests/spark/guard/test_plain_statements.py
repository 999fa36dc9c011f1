"""Statements that plain Spark runs, and what they must not do here: hide a limit, keep rows past a revoke, touch other sessions."""

from collections.abc import Iterator

import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import array, col, lit, spark_partition_id

from tests.spark.guard.driver_harness import ADMIN, REFUSED, DriverHarness

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

READER = "hgs_reader"
TOO_LARGE, TOO_COMPLEX = "54000", "54001"


@pytest.fixture
def spark(lake: DriverHarness) -> Iterator[SparkSession]:
    session = lake.session(ADMIN)
    session.sql("CREATE NAMESPACE IF NOT EXISTS lake.`default`").collect()
    yield session
    session.sql("DROP NAMESPACE lake.`default`").collect()


def state_of(spark: SparkSession, statement: str) -> str | None:
    """Return the SQLSTATE with which the statement fails."""
    with pytest.raises(PySparkException) as caught:
        spark.sql(statement).collect()
    return caught.value.getSqlState()


class TestTryFunctions:
    @pytest.mark.parametrize(
        ("call", "value"),
        [
            ("try_add(date'2021-01-01', interval 1 day)", "2021-01-02"),
            ("try_subtract(timestamp'2020-01-01', interval '1' day)", "2019-12-31 00:00:00"),
            ("try_divide(interval '3' month, 0)", None),
            ("try_multiply(interval 2 year, 2000000000)", None),
            ("try_mod(3, 0)", None),
            ("try_to_binary('zz', 'hex')", None),
            ("hex(try_to_binary('ab', 'hex'))", "AB"),
            ("try_aes_decrypt(unhex('00'), '0000111122223333')", None),
            ("try_make_timestamp_ntz(2020, 13, 1, 1, 1, 1)", None),
        ],
    )
    def test_a_try_function_returns_null_for_a_failure(self, spark: SparkSession, call: str, value: str | None) -> None:
        assert spark.sql(f"SELECT string({call}) AS value").collect()[0].value == value

    def test_a_try_function_computes_each_row(self, spark: SparkSession) -> None:
        days = "try_add(date'2020-01-01', int(id * 1500000000))"

        assert spark.sql(f"SELECT count({days}), count(*) FROM range(4)").collect()[0][:] == (2, 4)

    @pytest.mark.parametrize("length", ["length(repeat('x', 2000000000))", "length(repeat(string(id), 2000000000))"])
    def test_a_try_function_does_not_hide_a_limit(self, spark: SparkSession, length: str) -> None:
        assert state_of(spark, f"SELECT try_add(date'2020-01-01', {length}) FROM range(9, 10)") == TOO_LARGE


class TestPartitions:
    def test_rows_are_placed_by_the_ids_of_their_partitions(self, spark: SparkSession) -> None:
        placed = spark.range(4).repartitionById(3, (col("id") - 1).cast("int"))

        rows = placed.select("id", spark_partition_id().alias("p")).orderBy("id").collect()
        assert [row.p for row in rows] == [2, 0, 1, 2]

    def test_partitions_by_id_beyond_the_limit_are_refused(self, spark: SparkSession) -> None:
        placed = spark.range(4).repartitionById(1_000_000, col("id").cast("int"))

        with pytest.raises(PySparkException) as caught:
            placed.collect()
        assert caught.value.getSqlState() == TOO_LARGE


class TestParameters:
    def test_an_array_of_literals_is_the_value_of_a_parameter(self, spark: SparkSession) -> None:
        found = spark.sql("SELECT element_at(?, 2) AS a, ? AS b", args=[array(lit(1), lit(2)), 3]).collect()

        assert found[0].asDict() == {"a": 2, "b": 3}

    def test_an_array_that_repeats_a_long_parameter_is_too_large(self, spark: SparkSession) -> None:
        with pytest.raises(PySparkException) as caught:
            spark.sql(f"SELECT length(string(array({', '.join([':t'] * 40)})))", args={"t": "x" * 500_000}).collect()

        assert caught.value.getSqlState() in {TOO_LARGE, TOO_COMPLEX}


class TestXpath:
    BOOKS = (
        "'<books><book><title>A</title><price>30</price></book><book><title>B</title><price>20</price></book></books>'"
    )

    @pytest.mark.parametrize(
        ("call", "value"),
        [
            (f"xpath({BOOKS}, 'books/book/title/text()')", "[A, B]"),
            (f"xpath_string({BOOKS}, '//book[price<25]/title')", "B"),
            (f"xpath_boolean({BOOKS}, '//book[price>25]')", "true"),
            (f"xpath_short({BOOKS}, 'count(//book)')", "2"),
            (f"xpath_int({BOOKS}, 'sum(books/book/price)')", "50"),
            (f"xpath_long({BOOKS}, 'books/book[2]/price')", "20"),
            (f"xpath_float({BOOKS}, 'books/book[1]/price')", "30.0"),
            (f"xpath_double({BOOKS}, 'books/book[1]/price')", "30.0"),
            (f"xpath_number({BOOKS}, 'books/book[last()]/price')", "20.0"),
        ],
    )
    def test_a_path_is_followed_as_in_spark(self, spark: SparkSession, call: str, value: str) -> None:
        assert spark.sql(f"SELECT string({call}) AS value").collect()[0].value == value

    @pytest.mark.parametrize(
        "call",
        [
            """xpath_string('<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', 'a')""",
            """xpath_string(concat('<!DOCTYPE a SYSTEM "file:///etc/passwd">', '<a/>', id), 'a')""",
            "xpath_int(concat('<a>', repeat('<b><c/></b>', 5000 + id), '</a>'), 'count(//b//c/ancestor::a//c)')",
            "xpath_int(concat('<a>', repeat('<b/>', 300000 + id), '</a>'), 'count(a/b)')",
            "xpath_int(concat('<a>', repeat('<b><c/></b>', 3000), '</a>'), 'count(//b[//c[//b = //c]])')",
            "xpath_string(concat('<a>', repeat('x', 900000 + id), '</a>'), concat('concat(a', repeat(',a', 40), ')'))",
            "xpath_string(concat('<r><a>', repeat('x', 40000 + id), '</a><b>', repeat('y', 40000), '</b></r>'), 'translate(r/a, r/b, \\'\\')')",
            "xpath_boolean(concat('<r><a>', repeat('x', 40000 + id), '</a><b>', repeat('x', 40000), 'y</b></r>'), 'contains(r/a, r/b)')",
            "xpath_int(concat('<a>', repeat('<b/>', 9000), '</a>'), 'count(a/b[count(/a/b) = position()])')",
        ],
    )
    def test_a_document_that_is_unsafe_or_takes_too_long_is_refused(self, spark: SparkSession, call: str) -> None:
        assert state_of(spark, f"SELECT {call} FROM range(1)") == TOO_LARGE

    @pytest.mark.parametrize("path", ["document('file:///etc/passwd')", "java:java.lang.Runtime.getRuntime()", "$x"])
    def test_a_path_reaches_no_file_and_no_code(self, spark: SparkSession, path: str) -> None:
        with pytest.raises(PySparkException) as caught:
            spark.sql(f"SELECT xpath_string('<a/>', \"{path}\")").collect()
        assert "root:" not in str(caught.value)


class TestViews:
    @pytest.mark.parametrize("describe", ["DESCRIBE EXTENDED seen", "DESCRIBE TABLE FORMATTED seen"])
    def test_a_temporary_view_is_described(self, spark: SparkSession, describe: str) -> None:
        spark.sql("CREATE TEMPORARY VIEW seen AS SELECT 1 AS a").collect()

        assert [row.col_name for row in spark.sql(describe).collect()] == ["a"]

    def test_a_temporary_view_gets_another_query(self, spark: SparkSession) -> None:
        spark.sql("CREATE TEMPORARY VIEW seen AS SELECT 1 AS a").collect()

        spark.sql("ALTER VIEW seen AS SELECT 2 AS b").collect()

        assert spark.table("seen").collect()[0].b == 2

    def test_an_altered_temporary_view_needs_the_rights_of_its_new_query(self, lake: DriverHarness) -> None:
        lake.decisions.rule = lambda *_: True
        spark = lake.session(READER)
        spark.sql("CREATE TEMPORARY VIEW seen AS SELECT 1 AS a").collect()
        spark.sql("ALTER VIEW seen AS SELECT * FROM lake.secret.salaries").collect()
        lake.decisions.rule = lambda *_: False

        for use in ("SELECT * FROM seen", "DESCRIBE EXTENDED seen"):
            assert state_of(spark, use) == REFUSED

    def test_a_temporary_view_over_a_format_without_files_has_columns_and_no_rows(self, spark: SparkSession) -> None:
        spark.sql("CREATE TEMPORARY VIEW empty (a INT, b CHAR(3)) USING csv OPTIONS (header 'true')").collect()

        assert spark.table("empty").columns == ["a", "b"]
        assert spark.table("empty").collect() == []

    @pytest.mark.parametrize(
        "using",
        [
            "seen (a INT) USING json OPTIONS (path '/etc/passwd')",
            "seen (a INT) USING json OPTIONS (PATH '/etc/passwd')",
            "seen (a INT) USING jdbc OPTIONS (url 'jdbc:x', dbtable 't')",
            "seen (a INT) USING org.apache.spark.sql.execution.datasources.csv.CSVFileFormat",
            "seen USING csv",
        ],
    )
    def test_a_temporary_view_reads_no_file_and_loads_no_class(self, spark: SparkSession, using: str) -> None:
        assert state_of(spark, f"CREATE TEMPORARY VIEW {using}") == REFUSED


class TestCache:
    def test_a_session_clears_only_what_it_has_cached(self, spark: SparkSession, lake: DriverHarness) -> None:
        other = lake.session(ADMIN)
        other.sql("CACHE TABLE lake.trusted.delays").collect()
        spark.sql("CACHE TABLE lake.raw.flights").collect()

        spark.sql("CLEAR CACHE").collect()

        assert not spark.catalog.isCached("lake.raw.flights")
        assert other.catalog.isCached("lake.trusted.delays")

    def test_a_recursive_query_may_read_a_cached_table(self, spark: SparkSession) -> None:
        spark.sql("CACHE TABLE lake.raw.flights").collect()
        levels = "SELECT carrier, 0 FROM lake.raw.flights UNION ALL SELECT f.carrier, n + 1 FROM t JOIN lake.raw.flights f ON f.carrier = t.carrier WHERE n < 4"

        assert spark.sql(f"WITH RECURSIVE t(carrier, n) AS ({levels}) SELECT count(*) FROM t").collect()[0][0] == 5


class TestDefaultDatabase:
    def test_the_database_default_is_a_database_of_the_lake(self, spark: SparkSession) -> None:
        spark.sql("USE lake.`default`").collect()
        spark.sql("CREATE TABLE listed AS SELECT 1 AS a").collect()

        listed = [spark.catalog.listTables(), spark.catalog.listTables("default")]
        spark.sql("DROP TABLE listed").collect()

        assert [[table.name for table in tables] for tables in listed] == [["listed"], ["listed"]]
        assert spark.catalog.getDatabase("default").catalog == "lake"
        assert spark.catalog.listFunctions("default")
