"""The steps of a session: each creates or reads something, and checks that it sees only its own data."""

import random
from collections.abc import Callable
from typing import Any, Final

from pyspark.errors import PySparkException
from pyspark.sql.connect.session import SparkSession

from tests.spark.gateway.concurrency.markers import LeakError, LostError, Owner

REFUSED: Final = "42501"
_ZONES: Final = ("UTC", "Asia/Tokyo", "America/Lima", "Europe/Paris", "Africa/Cairo", "Pacific/Fiji")

Step = Callable[[SparkSession, Owner, str], object]
"""A step.

It gets the session, the session's owner and another person's name; it returns everything that it has seen.
"""


def make_active(spark: SparkSession) -> None:
    """Make the session the active session of this thread.

    PySpark assigns every checkpoint to the active session.
    """
    SparkSession._active_session.session = spark


def own_rows(spark: SparkSession, owner: Owner, _other: str) -> object:
    """Read the person's own table with SQL."""
    rows = spark.sql(f"SELECT mark, n FROM lake.trusted.{owner.person} WHERE n < 3").collect()
    _require(len(rows) == 3, rows)
    return rows


def own_frame(spark: SparkSession, owner: Owner, _other: str) -> object:
    """Read the person's own table as a DataFrame."""
    frame = spark.table(f"lake.trusted.{owner.person}").groupBy("mark").count()
    rows = frame.collect()
    _require(rows == [(owner.row_mark, 10)], rows)
    return rows


def anothers_rows(spark: SparkSession, _owner: Owner, other: str) -> object:
    """Try to read another person's table."""
    return _refused(lambda: spark.sql(f"SELECT * FROM lake.trusted.{other}").collect())


def anothers_schema(spark: SparkSession, _owner: Owner, other: str) -> object:
    """Try to read only the schema of another person's table."""
    return _refused(lambda: spark.table(f"lake.trusted.{other}").schema)


def view(spark: SparkSession, owner: Owner, _other: str) -> object:
    """Create a temporary view under a name that all sessions use, and read it."""
    spark.sql(f"CREATE OR REPLACE TEMP VIEW mine AS SELECT '{owner.mark}' AS mark").collect()
    rows = spark.table("mine").collect()
    _require(rows == [(owner.mark,)], rows)
    return rows, spark.catalog.listTables("lake.raw")


def variable(spark: SparkSession, owner: Owner, _other: str) -> object:
    """Set a variable under a name that all sessions use, and read it."""
    spark.sql(f"DECLARE OR REPLACE VARIABLE who STRING DEFAULT '{owner.mark}'").collect()
    rows = spark.sql("SELECT who").collect()
    _require(rows == [(owner.mark,)], rows)
    return rows


def setting(spark: SparkSession, owner: Owner, _other: str) -> object:
    """Set the time zone of the session, and check that it stays set."""
    zone = random.Random(owner.mark).choice(_ZONES)  # noqa: S311 - nothing secret
    spark.conf.set("spark.sql.session.timeZone", zone)
    seen = spark.conf.get("spark.sql.session.timeZone"), spark.sql("SELECT current_timezone()").collect()
    _require(seen == (zone, [(zone,)]), seen)
    return seen


def failure(spark: SparkSession, owner: Owner, _other: str) -> object:
    """Fail with an error text that contains the session's mark."""
    error = _failed(lambda: spark.sql(f"SELECT raise_error('{owner.mark}')").collect())
    _require(owner.mark in str(error), error)
    return error


def unknown_column(spark: SparkSession, owner: Owner, _other: str) -> object:
    """Fail while Spark analyses the statement; the error lists columns."""
    spark.sql(f"CREATE OR REPLACE TEMP VIEW odd AS SELECT 1 AS `{owner.mark}`").collect()
    error = _failed(lambda: spark.sql("SELECT nope FROM odd").collect())
    _require(owner.mark in str(error), error)
    return error


def local_rows(spark: SparkSession, owner: Owner, _other: str) -> object:
    """Send rows and get them back."""
    rows = spark.createDataFrame([(owner.mark, n) for n in range(50)], "mark STRING, n INT").collect()
    _require(len(rows) == 50, rows)
    return rows


def cached(spark: SparkSession, owner: Owner, _other: str) -> object:
    """Cache the rows of a table in Spark, and read them from the cache."""
    frame = spark.table(f"lake.trusted.{owner.person}").persist()
    rows = frame.collect()
    frame.unpersist()
    return rows


def checkpoint(spark: SparkSession, owner: Owner, _other: str) -> object:
    """Checkpoint the rows of a query in Spark, and read them by their id."""
    frame = spark.sql(f"SELECT '{owner.mark}' AS mark, mark AS row FROM lake.trusted.{owner.person}")
    make_active(spark)
    rows = frame.localCheckpoint().collect()
    _require(len(rows) == 10, rows)
    return rows


def tags(spark: SparkSession, _owner: Owner, _other: str) -> object:
    """Interrupt by a tag that all sessions use: no operation of another session is interrupted."""
    spark.addTag("everybody")
    ended = spark.interruptTag("everybody")
    spark.clearTags()
    _require(ended == [], ended)
    return ended


def clone(spark: SparkSession, owner: Owner, _other: str) -> object:
    """Continue in a clone, which has the session's views and no other session's views."""
    spark.sql(f"CREATE OR REPLACE TEMP VIEW cloned AS SELECT '{owner.mark}' AS mark").collect()
    other = spark.cloneSession()
    try:
        return other.table("cloned").collect()
    finally:
        other.client.close()


STEPS: Final[tuple[Step, ...]] = (
    own_rows,
    own_frame,
    anothers_rows,
    anothers_schema,
    view,
    variable,
    setting,
    failure,
    unknown_column,
    local_rows,
    cached,
    checkpoint,
    tags,
    clone,
)


def _failed(attempt: Callable[[], Any]) -> PySparkException:
    """Return the error of a statement that must fail.

    An error without a SQLSTATE does not come from the statement.
    """
    try:
        seen = attempt()
    except PySparkException as error:
        if error.getSqlState() is None:
            raise
        return error
    raise LeakError(f"a call that must fail returned: {seen}")


def _refused(attempt: Callable[[], Any]) -> PySparkException:
    error = _failed(attempt)
    _require(error.getSqlState() == REFUSED, error)
    return error


def _require(holds: bool, seen: object) -> None:  # noqa: FBT001 - reads as an assertion
    if not holds:
        raise LostError(f"the session does not see its own data: {str(seen)[:300]}")
