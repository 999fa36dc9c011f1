"""What a session does: each step makes or reads something, and looks whether it is its own."""

import random
from collections.abc import Callable
from typing import Any, Final

from pyspark.errors import PySparkException
from pyspark.sql.connect.session import SparkSession

from tests.spark.gateway.concurrency.markers import LeakError, LostError, Owner

REFUSED: Final = "42501"
_ZONES: Final = ("UTC", "Asia/Tokyo", "America/Lima", "Europe/Paris", "Africa/Cairo", "Pacific/Fiji")

Step = Callable[[SparkSession, Owner, str], object]
"""Gets the session, whose it is, and somebody else's name; returns all that it has seen."""


def make_active(spark: SparkSession) -> None:
    """Make it the session of this thread: the client takes every checkpoint for one of that session's."""
    SparkSession._active_session.session = spark


def own_rows(spark: SparkSession, owner: Owner, _other: str) -> object:
    """Read the person's own table in SQL."""
    rows = spark.sql(f"SELECT mark, n FROM lake.trusted.{owner.person} WHERE n < 3").collect()
    _require(len(rows) == 3, rows)
    return rows


def own_frame(spark: SparkSession, owner: Owner, _other: str) -> object:
    """Read it as a DataFrame."""
    frame = spark.table(f"lake.trusted.{owner.person}").groupBy("mark").count()
    rows = frame.collect()
    _require(rows == [(owner.row_mark, 10)], rows)
    return rows


def anothers_rows(spark: SparkSession, _owner: Owner, other: str) -> object:
    """Try somebody else's table."""
    return _refused(lambda: spark.sql(f"SELECT * FROM lake.trusted.{other}").collect())


def anothers_schema(spark: SparkSession, _owner: Owner, other: str) -> object:
    """Try to look at it only."""
    return _refused(lambda: spark.table(f"lake.trusted.{other}").schema)


def view(spark: SparkSession, owner: Owner, _other: str) -> object:
    """Make a temporary view that everybody calls the same, and read it."""
    spark.sql(f"CREATE OR REPLACE TEMP VIEW mine AS SELECT '{owner.mark}' AS mark").collect()
    rows = spark.table("mine").collect()
    _require(rows == [(owner.mark,)], rows)
    return rows, spark.catalog.listTables("lake.raw")


def variable(spark: SparkSession, owner: Owner, _other: str) -> object:
    """Set a variable that everybody calls the same, and read it."""
    spark.sql(f"DECLARE OR REPLACE VARIABLE who STRING DEFAULT '{owner.mark}'").collect()
    rows = spark.sql("SELECT who").collect()
    _require(rows == [(owner.mark,)], rows)
    return rows


def setting(spark: SparkSession, owner: Owner, _other: str) -> object:
    """Set the session's own time zone, and see it hold."""
    zone = random.Random(owner.mark).choice(_ZONES)  # noqa: S311 - nothing secret
    spark.conf.set("spark.sql.session.timeZone", zone)
    seen = spark.conf.get("spark.sql.session.timeZone"), spark.sql("SELECT current_timezone()").collect()
    _require(seen == (zone, [(zone,)]), seen)
    return seen


def failure(spark: SparkSession, owner: Owner, _other: str) -> object:
    """Fail with words of one's own."""
    error = _failed(lambda: spark.sql(f"SELECT raise_error('{owner.mark}')").collect())
    _require(owner.mark in str(error), error)
    return error


def unknown_column(spark: SparkSession, owner: Owner, _other: str) -> object:
    """Fail while the statement is analysed, which names columns."""
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
    """Keep the rows of a table in Spark, and read them from there."""
    frame = spark.table(f"lake.trusted.{owner.person}").persist()
    rows = frame.collect()
    frame.unpersist()
    return rows


def checkpoint(spark: SparkSession, owner: Owner, _other: str) -> object:
    """Keep the rows of a query in Spark, and name them by id."""
    frame = spark.sql(f"SELECT '{owner.mark}' AS mark, mark AS row FROM lake.trusted.{owner.person}")
    make_active(spark)
    rows = frame.localCheckpoint().collect()
    _require(len(rows) == 10, rows)
    return rows


def tags(spark: SparkSession, _owner: Owner, _other: str) -> object:
    """Interrupt what bears a tag that everybody uses: nothing of anybody else's."""
    spark.addTag("everybody")
    ended = spark.interruptTag("everybody")
    spark.clearTags()
    _require(ended == [], ended)
    return ended


def clone(spark: SparkSession, owner: Owner, _other: str) -> object:
    """Go on in a clone, which has the views and nobody else's."""
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
    """Return the error of a statement that must fail; one without a SQLSTATE is none of the statement's."""
    try:
        seen = attempt()
    except PySparkException as error:
        if error.getSqlState() is None:
            raise
        return error
    raise LeakError(f"what must fail has answered: {seen}")


def _refused(attempt: Callable[[], Any]) -> PySparkException:
    error = _failed(attempt)
    _require(error.getSqlState() == REFUSED, error)
    return error


def _require(holds: bool, seen: object) -> None:  # noqa: FBT001 - reads as an assertion
    if not holds:
        raise LostError(f"this is not what this session made: {str(seen)[:300]}")
