"""Recursive queries: the driver computes their levels, often on a thread of a pool."""

import time

import pytest
from pyspark.errors.exceptions.base import PySparkException

from tests.spark.guard.attempts import SOON
from tests.spark.guard.driver_harness import ADMIN, DriverHarness

pytestmark = pytest.mark.spark

TOO_LARGE, TOO_COMPLEX = "54000", "54001"
PATHS = (
    "WITH RECURSIVE path(a, steps) AS (SELECT a, 0 FROM lake.raw.edges UNION ALL "
    "SELECT e.b, steps + 1 FROM path JOIN lake.raw.edges e ON e.a = path.a WHERE steps < 5) "
)
LARGE = (
    "WITH RECURSIVE t(n, s) MAX RECURSION LEVEL 100000 AS (SELECT 1, 'x' UNION ALL "
    "SELECT n + 1, repeat('x', 240000 + n) FROM t WHERE n < 6000) "
)


@pytest.fixture(autouse=True)
def edges(lake: DriverHarness) -> None:
    lake.session(ADMIN).sql(
        "CREATE TABLE IF NOT EXISTS lake.raw.edges AS SELECT id AS a, id + 1 AS b FROM range(200)"
    ).collect()


@pytest.mark.parametrize(
    "read",
    [
        "SELECT count(*) FROM path",
        "SELECT (SELECT count(*) FROM path)",
        "SELECT count(*) FROM (SELECT * FROM path LIMIT 1190)",
    ],
    ids=["rows", "subquery", "limit"],
)
def test_a_level_of_a_recursive_query_may_have_many_rows(lake: DriverHarness, read: str) -> None:
    assert lake.session(ADMIN).sql(PATHS + read).collect()[0][0] == 1190


@pytest.mark.parametrize(
    "inner",
    [
        "SELECT max(n) FROM (SELECT row_number() OVER (PARTITION BY x ORDER BY x) AS n FROM VALUES (1.0D) v(x))",
        "SELECT count(DISTINCT x) FROM VALUES (1.0D), (2.0D) v(x)",
        "SELECT count(*) FROM VALUES (1.0D) v(x) JOIN VALUES (1.0D) w(x) USING (x)",
    ],
    ids=["window", "distinct", "join"],
)
def test_a_level_of_a_recursive_query_may_compare_floating_point_numbers(lake: DriverHarness, inner: str) -> None:
    levels = f"WITH RECURSIVE t(n, m) AS (SELECT 1L, 0L UNION ALL SELECT n + 1, ({inner}) FROM t WHERE n < 3) "

    assert lake.session(ADMIN).sql(levels + "SELECT count(*) FROM t").collect()[0][0] == 3


def test_a_recursive_query_needs_the_right_to_read_its_tables(lake: DriverHarness) -> None:
    spark = lake.session(ADMIN)
    spark.sql(f"CREATE TEMP VIEW paths AS {PATHS} SELECT * FROM path").collect()
    lake.decisions.rule = lambda *_: False

    for query in (f"{PATHS} SELECT count(*) FROM path", "SELECT count(*) FROM paths"):
        with pytest.raises(PySparkException, match="may not"):
            spark.sql(query).collect()


@pytest.mark.parametrize(
    "read", ["SELECT count(*), max(length(s)) FROM t", "SELECT id, (SELECT max(length(s)) FROM t) FROM range(3)"]
)
def test_the_rows_of_all_levels_of_a_recursive_query_are_bounded(lake: DriverHarness, read: str) -> None:
    begun = time.monotonic()

    with pytest.raises(PySparkException, match="its constants and expressions take") as caught:
        lake.session(ADMIN).sql(LARGE + read).collect()

    assert caught.value.getSqlState() == TOO_LARGE
    assert time.monotonic() - begun < 2 * SOON


def test_a_recursive_query_of_too_many_levels_is_refused_with_a_sentence(lake: DriverHarness) -> None:
    levels = (
        "WITH RECURSIVE t(n) MAX RECURSION LEVEL 100000 AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 50000) "
    )

    with pytest.raises(PySparkException, match="more than 3500 levels") as caught:
        lake.session(ADMIN).sql(levels + "SELECT count(*) FROM t").collect()

    assert caught.value.getSqlState() == TOO_COMPLEX
