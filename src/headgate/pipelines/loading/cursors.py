"""How far a table has come by its cursor, and which rows a load is about."""

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
    """The highest cursor of a table: as text that an API understands, and as a value that Spark compares."""

    text: str
    value: Column


def cursor_position(session: SparkSession, table: str, cursor: str, type: DataType) -> CursorPosition | None:
    """Return how far a table has come, or None while it has no row with a cursor."""
    highest = spark.max(quote_name(cursor))
    # As a number, because a time in words is another one in each time zone.
    exact = spark.unix_micros(highest) if isinstance(type, TimestampType) else highest.cast("string")
    found = session.table(table).agg(exact).collect()[0][0]
    if found is None:
        return None
    if isinstance(type, TimestampType):
        moment = (_EPOCH + timedelta(microseconds=found)).isoformat()
        return CursorPosition(moment.replace("+00:00", "Z"), spark.timestamp_micros(spark.lit(found)))
    return CursorPosition(found, spark.lit(found).cast(type))


def in_range(part: Range, column: Column, type: DataType) -> Column:
    """Return whether a cursor lies in the part that a backfill is about."""
    inside = column.isNotNull()
    if part.since is not None:
        inside &= column >= spark.lit(part.since).cast(type)
    if part.until is not None:
        inside &= column < spark.lit(part.until).cast(type)
    return inside
