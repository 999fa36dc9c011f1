"""Cursors of incremental loads: the highest value in a table, and the rows in the range of a backfill."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pyspark.sql import Column
from pyspark.sql.connect import functions as spark
from pyspark.sql.connect.session import SparkSession
from pyspark.sql.types import DataType, TimestampType

from headgate.pipelines.definitions.context import Range
from headgate.pipelines.sql_quoting import quote_name

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class CursorPosition:
    """The highest cursor value in a table, as a text for an API, and as a value for comparisons in Spark."""

    text: str
    value: Column


def cursor_position(session: SparkSession, table: str, cursor: str, type: DataType) -> CursorPosition | None:
    """Return the highest cursor value in a table, or None if no row has one."""
    highest = spark.max(quote_name(cursor))
    # As a number, because the text of a time depends on the session's time zone.
    exact = spark.unix_micros(highest) if isinstance(type, TimestampType) else highest.cast("string")
    found = session.table(table).agg(exact).collect()[0][0]
    if found is None:
        return None
    if isinstance(type, TimestampType):
        moment = (_EPOCH + timedelta(microseconds=found)).isoformat()
        return CursorPosition(moment.replace("+00:00", "Z"), spark.timestamp_micros(spark.lit(found)))
    return CursorPosition(found, spark.lit(found).cast(type))


def in_range(part: Range, column: Column, type: DataType) -> Column:
    """Return the condition that a cursor is in the range of a backfill."""
    inside = column.isNotNull()
    if part.since is not None:
        inside &= column >= spark.lit(part.since).cast(type)
    if part.until is not None:
        inside &= column < spark.lit(part.until).cast(type)
    return inside
