"""Limits of a text during parsing, when there is no plan yet whose size could be limited."""

import time
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal

import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from tests.spark.guard.driver_harness import ADMIN, DriverHarness

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

TOO_LARGE, TOO_COMPLEX = "54000", "54001"
SOON = 20.0
"""Seconds within which a text is refused, on a busy machine."""


def listed(count: int) -> str:
    """Return the names of this number of columns."""
    return ", ".join(f"c{number}" for number in range(count))


def grouped(by: str) -> str:
    """Return a statement that groups one row of forty columns."""
    columns = ", ".join(f"1 AS c{number}" for number in range(40))
    return f"SELECT count(*) FROM (SELECT {columns}) GROUP BY {by}"


HUGE_CUBE = f"GROUPING SETS (CUBE({listed(30)}))"
GROUPINGS = {
    "cube in grouping sets": HUGE_CUBE,
    "cube two levels down": f"GROUPING SETS (GROUPING SETS (CUBE({listed(30)}), ()), (c1))",
    "cube beside grouping sets": f"c1, GROUPING SETS (c2, CUBE({listed(30)}))",
    "cube": f"CUBE({listed(30)})",
    "with cube": f"{listed(30)} WITH CUBE",
    "two cubes": f"CUBE({listed(8)}), CUBE({listed(8)})",
    "cube and rollup": f"CUBE({listed(10)}), ROLLUP({listed(8)})",
    "grouping sets of cubes together": f"GROUPING SETS (CUBE({listed(11)}), CUBE({listed(11)}), (c1)), ROLLUP(c1)",
}
"""GROUP BY with more than 4,096 grouping sets."""


def refused(use: Callable[[], object], state: str, message: str) -> None:
    """Fail unless the call is refused in time, with this SQLSTATE and message."""
    begun = time.monotonic()
    with pytest.raises(PySparkException) as caught:
        use()
    assert time.monotonic() - begun < SOON
    assert caught.value.getSqlState() == state, caught.value
    assert message in str(caught.value)


@pytest.fixture
def spark(lake: DriverHarness) -> Iterator[SparkSession]:
    """Return a session, and fail if the driver did not survive the test."""
    generation = lake.driver.generation
    session = lake.session(ADMIN)
    yield session
    assert session.sql("SELECT 1").collect()[0][0] == 1
    assert lake.driver.generation == generation


class TestGroupingSets:
    """While it parses, Spark expands the sets of CUBE and ROLLUP inside GROUPING SETS."""

    @pytest.mark.parametrize("kind", GROUPINGS)
    def test_grouping_sets_of_too_great_a_number_are_refused_before_they_are_expanded(
        self, spark: SparkSession, kind: str
    ) -> None:
        refused(lambda: spark.sql(grouped(GROUPINGS[kind])).collect(), TOO_LARGE, "more than 4096 grouping sets")

    def test_grouping_sets_with_too_many_columns_together_are_refused(self, spark: SparkSession) -> None:
        statement = f"SELECT 1 GROUP BY GROUPING SETS (ROLLUP({listed(3000)}))"

        refused(lambda: spark.sql(statement).collect(), TOO_COMPLEX, "expressions in its grouping sets")

    @pytest.mark.parametrize(
        ("by", "rows"),
        [
            (f"GROUPING SETS (CUBE({listed(6)}), ROLLUP({listed(30)}), (), c1, (c1, c2))", 64 + 31 + 3),
            (f"CUBE({listed(3)}), GROUPING SETS (c1, ROLLUP(c4, c5))", 8 * 4),
            (f"{listed(5)} WITH CUBE", 32),
        ],
    )
    def test_a_few_grouping_sets_are_answered(self, spark: SparkSession, by: str, rows: int) -> None:
        assert len(spark.sql(grouped(by)).collect()) == rows


WAYS: Mapping[str, Callable[[SparkSession, str], object]] = {
    "SQL": lambda spark, query: spark.sql(query).collect(),
    "SQL with named parameters": lambda spark, query: spark.sql(f"{query} HAVING :p = 1", {"p": 1}).collect(),
    "SQL with parameters": lambda spark, query: spark.sql(f"{query} HAVING ? = 1", [1]).collect(),
    "explain": lambda spark, query: spark.sql(f"EXPLAIN {query}").collect(),
    "EXECUTE IMMEDIATE": lambda spark, query: spark.sql(f"EXECUTE IMMEDIATE '{query}'").collect(),
    "EXECUTE IMMEDIATE with a parameter": lambda spark, query: spark.sql(
        f"EXECUTE IMMEDIATE '{query} HAVING :p = 1' USING 1 AS p"
    ).collect(),
    "script": lambda spark, query: spark.sql(f"BEGIN IF true THEN {query}; END IF; END").collect(),
    "view": lambda spark, query: spark.sql(f"CREATE VIEW lake.trusted.huge AS {query}").collect(),
    "temporary view": lambda spark, query: spark.sql(f"CREATE TEMPORARY VIEW huge AS {query}").collect(),
    "temporary function": lambda spark, query: spark.sql(
        f"CREATE TEMPORARY FUNCTION huge() RETURNS BIGINT RETURN ({query})"
    ).collect(),
    "expression": lambda spark, query: spark.range(1).select(sf.expr(f"({query})")).collect(),
    "filter": lambda spark, query: spark.range(1).filter(f"EXISTS ({query})").collect(),
    "pipe": lambda spark, query: spark.sql(f"{query} |> WHERE true").collect(),
}
"""The ways in which a client sends a text that Spark parses."""


NESTED_TYPES = f"a {'ARRAY<' * 2000}INT{'>' * 2000}"
SCHEMAS: Mapping[str, Callable[[SparkSession], object]] = {
    "from_json": lambda spark: spark.sql(f"SELECT from_json('1', '{NESTED_TYPES}')").collect(),
    "from_json, computed": lambda spark: spark.sql(
        "SELECT from_json('1', concat('a ', repeat('ARRAY<', 2000), 'INT', repeat('>', 2000)))"
    ).collect(),
    "from_csv": lambda spark: spark.sql(f"SELECT from_csv('1', '{NESTED_TYPES}')").collect(),
    "cast": lambda spark: spark.range(1).select(sf.col("id").cast(NESTED_TYPES[2:])).collect(),
    "create table": lambda spark: spark.sql(f"CREATE TABLE lake.raw.nested ({NESTED_TYPES})").collect(),
}
"""The ways in which a client sends a schema as text."""


@pytest.mark.parametrize("way", SCHEMAS)
def test_the_depth_limit_applies_to_every_way_to_give_a_schema(spark: SparkSession, way: str) -> None:
    refused(lambda: SCHEMAS[way](spark), TOO_COMPLEX, "levels deep")


def test_a_pivot_with_too_many_columns_is_refused(spark: SparkSession) -> None:
    sums = ", ".join(f"sum(b) AS s{number}" for number in range(2000))
    values = ", ".join(map(str, range(2000)))
    pivot = f"SELECT * FROM (SELECT id a, id b FROM range(5)) PIVOT ({sums} FOR a IN ({values}))"

    refused(lambda: spark.sql(pivot).collect(), TOO_COMPLEX, "aggregates in its PIVOT")


@pytest.mark.parametrize("way", WAYS)
def test_the_limits_apply_to_every_way_to_send_a_statement(spark: SparkSession, way: str) -> None:
    refused(lambda: WAYS[way](spark, grouped(HUGE_CUBE)), TOO_LARGE, "more than 4096 grouping sets")


SLOW = {
    "types in types": f"SELECT CAST(null AS {'ARRAY<' * 2000}INT{'>' * 2000})",
    "case in case": f"SELECT {'CASE WHEN ' * 2000} true {'THEN 1 END ' * 2000}",
    "functions in functions": f"SELECT transform(array(1), {'x -> ' * 5000} 1)",
    "names of many parts": f"SELECT * FROM a{'.a' * 100000}",
    "lateral views": f"SELECT 1 FROM t {'LATERAL VIEW explode(a) x AS y ' * 20000}",
    "comments in comments": f"SELECT 1 {'/* ' * 5000} {'*/ ' * 5000}",
    "signs": f"SELECT {'- ' * 200000} 1",
    "words": f"SELECT {'1, ' * 1200000} 1",
    "statements": f"BEGIN {'SELECT 1; ' * 20000} END",
    "characters": f"SELECT '{'x' * (17 << 20)}'",
    "comments for Iceberg": f"ALTER TABLE t ADD COLUMN c INT COMMENT '{'-- ' * 100000}'",
}
"""Texts whose parsing time in Spark or Iceberg grows much faster than their length."""


@pytest.mark.parametrize("kind", SLOW)
def test_a_text_that_is_slow_to_parse_is_refused(spark: SparkSession, kind: str) -> None:
    refused(lambda: spark.sql(SLOW[kind]).collect(), TOO_COMPLEX, "the statement")


def test_a_text_that_is_slow_to_parse_is_refused_with_parameters(spark: SparkSession) -> None:
    statement = SLOW["lateral views"].replace("SELECT 1", "SELECT :p")

    refused(lambda: spark.sql(statement, {"p": 1}).collect(), TOO_COMPLEX, "the statement")


def test_a_text_that_its_parameters_make_too_long_is_refused(spark: SparkSession) -> None:
    statement = f"SELECT {', '.join([':p'] * 1000)}"

    refused(lambda: spark.sql(statement, {"p": "x" * 100000}).collect(), TOO_COMPLEX, "longer than 16777216 characters")
    refused(
        lambda: spark.sql(f"EXECUTE IMMEDIATE '{statement}' USING repeat('x', 100000) AS p").collect(),
        TOO_COMPLEX,
        "longer than 16777216 characters",
    )


NUMBERS = (
    "1e100000000BD",
    "-1e100000000BD",
    "1e-100000000BD",
    "1" * 1000000,
    f"{'1' * 1000000}.1",
    f"{'1' * 1000000}BD",
)


@pytest.mark.parametrize("number", NUMBERS, ids=[number[:15] + number[-2:] for number in NUMBERS])
def test_a_number_that_spark_would_expand_to_many_digits_is_refused(spark: SparkSession, number: str) -> None:
    refused(lambda: spark.sql(f"SELECT {number}").collect(), TOO_LARGE, "digits")


class TestCopies:
    """Spark evaluates the rows of VALUES while it parses, and traverses a plan before it analyzes it."""

    def test_rows_of_values_that_are_slow_to_evaluate_are_refused(self, spark: SparkSession) -> None:
        value = "1"
        for _ in range(40):
            value = f"CASE {value} WHEN 1 THEN 1 WHEN 2 THEN 2 ELSE 3 END"

        refused(lambda: spark.sql(f"VALUES ({value})").collect(), TOO_COMPLEX, "expressions")

    def test_an_expression_that_spark_copies_too_often_is_refused(self, spark: SparkSession) -> None:
        value = "1"
        for _ in range(40):
            value = f"CASE {value} WHEN 1 THEN 1 WHEN 2 THEN 2 ELSE 3 END"

        for query in (f"SELECT {value}", f"SELECT (SELECT {value})", f"WITH a AS (SELECT {value}) SELECT * FROM a"):
            refused(lambda query=query: spark.sql(query).collect(), TOO_COMPLEX, "expressions")
        refused(lambda: spark.range(1).select(sf.expr(value)).collect(), TOO_COMPLEX, "expressions")

    def test_many_rows_of_constants_are_answered(self, spark: SparkSession) -> None:
        rows = ", ".join(f"({number}, -1.5, 'x', NULL, DATE '2020-01-01')" for number in range(5000))

        assert spark.sql(f"VALUES {rows}").count() == 5000
        assert spark.sql("VALUES (1 + 1, upper('a') || 'b')").collect()[0] == (2, "Ab")


DOUBLED = ", ".join(
    ["a0 AS (SELECT 'AA' AS carrier, 1 AS year)"]
    + [f"a{n} AS (SELECT l.* FROM a{n - 1} l JOIN a{n - 1} r ON true)" for n in range(1, 30)]
)


@pytest.mark.parametrize(
    "statement",
    [
        f"WITH {DOUBLED} FROM a29 INSERT INTO lake.raw.flights SELECT * INSERT INTO lake.raw.flights SELECT *",
        f"WITH {DOUBLED} UPDATE lake.raw.flights SET year = 1 WHERE EXISTS (SELECT * FROM a29)",
        f"EXPLAIN WITH {DOUBLED} UPDATE lake.raw.flights SET year = 1 WHERE EXISTS (SELECT * FROM a29)",
    ],
    ids=["several inserts", "update", "explain"],
)
def test_common_table_expressions_that_a_command_expands_too_far_are_refused(
    spark: SparkSession, statement: str
) -> None:
    refused(lambda: spark.sql(statement).collect(), TOO_COMPLEX, "more than 4000 operations")


def test_an_unclosed_comment_raises_the_error_of_spark(spark: SparkSession) -> None:
    with pytest.raises(PySparkException, match="UNCLOSED_BRACKETED_COMMENT"):
        spark.sql("SELECT 1 /* comment").collect()


def test_ordinary_texts_are_answered(spark: SparkSession) -> None:
    def answer(query: str) -> DataFrame:
        return spark.sql(query)

    deep = "1"
    for _ in range(50):
        deep = f"CASE WHEN true THEN ({deep}) END"
    columns = ", ".join(f"a.c{number} AS d{number}" for number in range(1500))
    table = ", ".join(f"{number} AS c{number}" for number in range(1500))
    assert answer(f"SELECT {deep}").collect()[0][0] == 1
    assert len(answer(f"SELECT {columns} FROM (SELECT {table}) a").columns) == 1500
    assert answer(f"SELECT 1 WHERE 5 IN ({', '.join(map(str, range(20000)))})").count() == 1
    assert answer("SELECT '/data/*', '/more/*' /* a comment /* in a comment */ */ -- and one").count() == 1
    assert answer(f"SELECT {', '.join(['transform(array(1), x -> x + 1)'] * 300)}").count() == 1
    assert answer("SELECT 1e30BD, 1e5, 1.5e-7D, 99999999999999999999999999999999999999").count() == 1
    assert spark.sql("SELECT :a, :b", {"a": "x" * 1000000, "b": Decimal("1.5")}).collect()[0][1] == Decimal("1.5")
    # Spark parses these texts twice, because the fast parser mode fails.
    assert answer("SELECT IDENTIFIER('carr' || 'ier') FROM IDENTIFIER(concat('lake', '.raw.flights'))").count() == 1
    assert (
        answer("BEGIN FOR r AS SELECT * FROM lake.raw.flights DO SELECT r.year; END FOR; END").collect()[0][0] == 2012
    )
    assert spark.createDataFrame([], "a ARRAY<MAP<STRING, STRUCT<b: INT>>>, `x y` INT").columns == ["a", "x y"]
