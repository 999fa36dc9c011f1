"""The limiter of the driver ends statements before the driver runs out of memory."""

import time

import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession

from tests.soak import count
from tests.spark.guard.attempts import SOON, STRANGER, Attempt, open_as
from tests.spark.guard.driver_harness import ADMIN, DriverHarness

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

TABLE = "lake.raw.words"
REFUSED = {"54000", "54001", "57014"}
"""The SQLSTATE of a statement that is too large, or that was ended."""
SESSIONS = 12


def repeat(form: str, times: int, separator: str = ", ") -> str:
    """Return the form with each number below `times` in place of `#`."""
    return separator.join(form.replace("#", str(number)) for number in range(times))


def statements(times: int) -> list[str]:
    """Return statements of this number of short calls.

    Each statement takes much memory of Spark's planner and compiler.
    """
    lengths = repeat("length(concat(w, '#')) + # <> n * (# + 7)", times, " AND ")
    digests = repeat("md5(concat(w, '#')) <> 'x#'", times, " AND ")
    branches = repeat("WHEN substr(w, 2) = '#' THEN upper(concat(w, '#'))", times, " ")
    columns = repeat("upper(concat(w, '#')) AS c#", times)
    return [
        f"SELECT n FROM {TABLE} WHERE {lengths}",
        f"SELECT n FROM {TABLE} WHERE {digests}",
        f"SELECT CASE {branches} END FROM {TABLE}",
        f"SELECT concat({repeat('lower(concat(w, n + #))', times)}) FROM {TABLE}",
        f"SELECT {columns} FROM {TABLE} LIMIT 3",
        f"SELECT {repeat('max(concat(w, #)) AS c#', times)} FROM {TABLE} GROUP BY n % 3",
    ]


def run_all(session: SparkSession, queries: list[str], states: list[str | None]) -> None:
    """Run queries until none is left; append the SQLSTATE of each."""
    while queries:
        try:
            session.sql(queries.pop(0)).collect()
            states.append(None)
        except PySparkException as error:
            states.append(error.getSqlState())
        except IndexError:  # another session took the last query
            return


@pytest.mark.soak
def test_large_statements_of_one_user_end_and_the_driver_does_not(strained_lake: DriverHarness) -> None:
    generation, states = strained_lake.driver.generation, list[str | None]()
    strained_lake.decisions.rule = lambda *_: True
    strained_lake.session(ADMIN).sql(
        f"CREATE TABLE {TABLE} AS SELECT id AS n, concat('e', id) AS w FROM range(100)"
    ).collect()
    other, waits = open_as(strained_lake, STRANGER), list[float]()
    queries = 2 * [query for pair in zip(statements(600), statements(3000), strict=True) for query in pair]
    total = len(queries)

    heavy = [Attempt(lambda: run_all(open_as(strained_lake, ADMIN), queries, states)) for _ in range(SESSIONS)]
    while not all(each.wait(0.1) for each in heavy):
        begun = time.monotonic()
        other.sql("SELECT 1").collect()
        waits.append(time.monotonic() - begun)

    assert len(states) == total
    assert set(states) <= {None, *REFUSED}
    assert None in states
    assert strained_lake.driver.generation == generation
    answered = states.count(None)
    count(f"{total} large statements of one user, {answered} answered; another user waited {max(waits):.1f} s at most")
    assert max(waits) < 2 * SOON
