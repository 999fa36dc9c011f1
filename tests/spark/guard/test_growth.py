"""Short statements that grow while Spark works on them: the statement ends; the driver and other statements do not."""

import time
from collections.abc import Callable

import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from tests.spark.guard.attempts import SOON, STRANGER, Attempt, open_as
from tests.spark.guard.driver_harness import ADMIN, DriverHarness

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

ENDED, TOO_COMPLEX = "57014", "54001"
COUNT = "SELECT count(*) FROM range(5)"


def nested(levels: int, level: str, seed: str) -> str:
    """Return a query nested in the FROM of a query, to this depth."""
    query = seed
    for _ in range(levels):
        query = level.format(query)
    return query


def constraints(columns: int) -> str:
    """Return a query whose columns have two names each: Spark infers constraints for each combination of names."""
    named = [f"a{n}" for n in range(columns)]
    grouped = f"SELECT id % 3 AS k, {', '.join(f'max(id + {n}) AS a{n}' for n in range(columns))} FROM range(10) GROUP BY id % 3"
    again = ", ".join(f"{name} AS b{name}" for name in named)
    kept = f"SELECT k, {', '.join(named)}, {again} FROM (SELECT * FROM ({grouped}) WHERE {' + '.join(named)} > 0)"
    return f"SELECT * FROM ({kept}) x JOIN (SELECT id, id + 1 AS z FROM range(5)) y ON x.ba0 = y.id AND x.a1 = y.z"


def joined(tables: int, names: int) -> str:
    """Return a join of tables, each of which has one column under many names."""
    first = "SELECT " + ", ".join(f"id AS n{name}" for name in range(names)) + " FROM range(3)"
    others = (
        f"JOIN (SELECT {', '.join(f'id AS n{name}_{at}' for name in range(names))} FROM range(3)) t{at} ON n0_{at} = n{at}"
        for at in range(1, tables)
    )
    return f"SELECT * FROM ({first}) t0 {' '.join(others)}"


def replace_many(spark: SparkSession) -> object:
    """Replace each of many values in each of many columns."""
    frame = spark.range(1).select(*[sf.col("id").alias(f"f{n}") for n in range(2000)])
    return frame.replace({float(n): float(n + 1) for n in range(3000)}).columns


def nest_with_field(spark: SparkSession) -> object:
    """Replace a field of a struct in nested `withField` calls.

    Spark copies the struct for each of its fields.
    """
    frame = spark.range(1).select(sf.struct(*[sf.col("id").alias(f"f{n}") for n in range(12)]).alias("s"))
    column = sf.col("s")
    for n in range(6):
        column = sf.coalesce(column.withField("f0", sf.lit(n)), sf.col("s"))
    return frame.select(column.alias("s")).collect()


STARS = nested(23, "SELECT *, * FROM ({})", "SELECT id FROM range(1)")
TYPES = nested(30, "SELECT named_struct('a', s, 'b', s) AS s FROM ({})", "SELECT id AS s FROM range(1)")
GROWING: dict[str, Callable[[SparkSession], object]] = {
    "stars": lambda spark: spark.sql(f"SELECT count(*) FROM ({STARS})").collect(),
    "replaced values in an analysis": replace_many,
    "nested fields": nest_with_field,
}
"""Statements that would fill the heap while Spark analyzes or optimizes them."""
QUICKEST = "replaced values in an analysis"
"""The statement that `make test` tries; the others take half a minute and more."""


@pytest.fixture
def lake(strained_lake: DriverHarness) -> DriverHarness:
    strained_lake.decisions.rule = lambda *_: True
    return strained_lake


@pytest.mark.parametrize(
    "kind", [QUICKEST, *(pytest.param(kind, marks=pytest.mark.soak) for kind in GROWING if kind != QUICKEST)]
)
def test_a_statement_that_grows_while_it_is_planned_ends_without_harm_to_others(lake: DriverHarness, kind: str) -> None:
    other, generation = open_as(lake, STRANGER), lake.driver.generation
    other.sql(COUNT).collect()
    attempt, waits = Attempt(lambda: GROWING[kind](lake.session(ADMIN))), list[float]()

    while not attempt.wait(0.2):
        begun = time.monotonic()
        other.sql(COUNT).collect()
        waits.append(time.monotonic() - begun)

    assert attempt.state in {TOO_COMPLEX, ENDED}
    assert "memory" in attempt.message
    assert max(waits, default=0) < 2 * SOON
    assert lake.driver.generation == generation


@pytest.mark.soak
@pytest.mark.parametrize("query", [constraints(17), joined(12, 100)])
def test_a_query_of_columns_with_many_aliases_is_answered_soon(lake: DriverHarness, query: str) -> None:
    begun = time.monotonic()

    lake.session(ADMIN).sql(query).collect()

    assert time.monotonic() - begun < 3 * SOON


def test_a_condition_on_a_column_is_applied_to_a_column_joined_on_equality(lake: DriverHarness) -> None:
    named = "SELECT id AS {0}, id AS also_{0} FROM range(100)"
    query = f"SELECT * FROM ({named.format('a')}) JOIN ({named.format('b')}) ON a = b WHERE a > 95"

    explained = lake.session(ADMIN).sql(f"EXPLAIN {query}").collect()[0][0]

    assert explained.count("> 95") == 2, explained


def test_similar_names_are_not_suggested_if_there_is_too_much_to_compare(lake: DriverHarness) -> None:
    columns = ", ".join(f"id AS `{'n' * 1990}{n}`" for n in range(2000))

    with pytest.raises(PySparkException, match=r"^\[UNRESOLVED_COLUMN.WITHOUT_SUGGESTION\]"):
        lake.session(ADMIN).sql(f"SELECT {'x' * 3000} FROM (SELECT {columns} FROM range(1))").collect()


def test_similar_names_are_suggested(lake: DriverHarness) -> None:
    columns = ", ".join(f"id AS column_{n}" for n in range(2000))

    with pytest.raises(PySparkException, match=r"Did you mean one of the following.*column_7"):
        lake.session(ADMIN).sql(f"SELECT colum_7 FROM (SELECT {columns} FROM range(1))").collect()


@pytest.mark.parametrize("work", ["analysis", "rows"])
def test_a_type_that_doubles_with_each_level_is_refused(lake: DriverHarness, work: str) -> None:
    spark, begun = lake.session(ADMIN), time.monotonic()

    with pytest.raises(PySparkException) as caught:
        spark.sql(TYPES).schema if work == "analysis" else spark.sql(f"SELECT count(s) FROM ({TYPES})").collect()

    assert caught.value.getSqlState() == TOO_COMPLEX
    assert time.monotonic() - begun < SOON


@pytest.mark.parametrize("arguments", ["*, *", ", ".join(["*"] * 100)])
def test_generated_names_that_grow_with_each_level_are_refused(lake: DriverHarness, arguments: str) -> None:
    with pytest.raises(PySparkException, match="are longer than 16777216 characters together") as caught:
        lake.session(ADMIN).sql(
            nested(24, f"SELECT concat({arguments}) FROM ({{}})", "SELECT id FROM range(1)")
        ).collect()

    assert caught.value.getSqlState() == TOO_COMPLEX


def test_generated_names_of_many_columns_are_allowed(lake: DriverHarness) -> None:
    columns = ", ".join(f"{'n' * 100}{n} + 1" for n in range(1000))
    given = ", ".join(f"id AS {'n' * 100}{n}" for n in range(1000))

    assert len(lake.session(ADMIN).sql(f"SELECT {columns} FROM (SELECT {given} FROM range(1))").schema) == 1000


@pytest.mark.soak
def test_a_merge_of_many_columns_is_planned(lake: DriverHarness) -> None:
    spark = lake.session(ADMIN)
    columns = ", ".join(f"id + {n} AS c{n}" for n in range(500))
    for name in ("merged", "changes"):
        spark.sql(f"CREATE TABLE lake.raw.{name} AS SELECT id, {columns} FROM range(10)").collect()

    spark.sql(
        "MERGE INTO lake.raw.merged t USING lake.raw.changes s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    ).collect()

    assert spark.table("lake.raw.merged").count() == 10


def test_the_error_of_a_condition_names_the_misspelt_column(lake: DriverHarness) -> None:
    with pytest.raises(PySparkException, match=r"UNRESOLVED_COLUMN.*idd"):
        lake.session(ADMIN).sql("SELECT * FROM range(5) WHERE idd = 3").collect()


def test_an_ended_analysis_releases_its_thread(lake: DriverHarness) -> None:
    spark = lake.session(ADMIN)
    with pytest.raises(PySparkException):
        replace_many(spark)

    for _ in range(20):
        assert spark.sql(COUNT).schema.names == ["count(1)"]
