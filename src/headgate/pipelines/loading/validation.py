"""Validation of rows against their table: bad rows fail the load or go to a quarantine table, with the reason."""

from collections.abc import Iterable, Sequence
from functools import reduce

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql.connect import functions as spark
from pyspark.sql.types import StructType

from headgate.control.text.error_text import raw_words, visible_words
from headgate.pipelines.load_errors import LoadError
from headgate.pipelines.loading.casting import (
    Misfit,
    cast_columns,
    describe_misfits,
    find_misfits,
    find_missing_values,
    is_misfit,
)
from headgate.pipelines.loading.row_reader import FILE_NAME, RAW
from headgate.pipelines.sql_quoting import quote_name

_BAD, _WHY, _TEXT = "headgate_bad", "headgate_why", "headgate_text"
_LONGEST = 100_000
"""The maximum number of stored characters of a bad row."""
_SHOWN = 200
"""The maximum number of characters of a bad row in a log line."""
_RAISED = "USER_RAISED_EXCEPTION"
_UNREADABLE = "FAILED_READ_FILE"


def data_of(frame: DataFrame) -> StructType:
    """Return the columns of rows without the column that reading added."""
    return StructType([field for field in frame.schema.fields if field.name != RAW])


def validate_rows(
    parts: Iterable[DataFrame], table: StructType, keys: Sequence[str], cursor: str | None, *, of_files: bool
) -> DataFrame:
    """Return the rows of all parts with the columns of the table, and columns with whether and why a row is bad."""
    every = (_judge(each, table, keys, cursor, of_files=of_files) for each in parts)
    return reduce(lambda some, more: some.unionByName(more), every)


def is_bad() -> Column:
    """Return the condition that a validated row is bad."""
    return spark.col(_BAD)


def valid_rows_or_fail(rows: DataFrame, stream: str) -> DataFrame:
    """Return the rows, for which Spark raises an error if one of them is bad: see `load_error_from`."""
    sentence = spark.concat(
        spark.lit(f"stream `{stream}`: "),
        spark.col(_WHY),
        spark.lit(": "),
        spark.left(spark.col(_TEXT), spark.lit(_SHOWN)),
        spark.lit("; correct the row, or write bad rows to a quarantine table with `bad_rows: quarantine`"),
    )
    return _drop_marks(
        rows.where(spark.when(~is_bad(), ~is_bad()).otherwise(spark.raise_error(sentence).cast("boolean")))
    )


def valid_rows(rows: DataFrame) -> DataFrame:
    """Return the valid rows."""
    return _drop_marks(rows.where(~is_bad()))


def quarantine_rows(rows: DataFrame, run: str) -> DataFrame:
    """Return the bad rows, as text, each with the reason, the time and the run."""
    bad_rows = rows.where(is_bad()).select(
        spark.left(spark.col(_TEXT), spark.lit(_LONGEST)).alias("row"),
        spark.col(_WHY).alias("reason"),
        spark.current_timestamp().alias("at"),
        spark.lit(run).alias("run"),
    )
    return bad_rows.dropDuplicates(["row"])


def load_error_from(error: PySparkException, stream: str) -> LoadError | None:
    """Return the error for a bad row or an unreadable file, in words for users; None for any other error of Spark."""
    words = raw_words(error)
    if _RAISED in words:
        return LoadError(words.partition(_RAISED)[2].lstrip("] ").partition(" SQLSTATE")[0])
    if _UNREADABLE in words:
        return LoadError(
            f"stream `{stream}`: a file cannot be read to its end ({visible_words(error)}); it is damaged, or was moved or "
            "replaced during the load; restore it, and run again"
        )
    return None


def _judge(
    frame: DataFrame, table: StructType, keys: Sequence[str], cursor: str | None, *, of_files: bool
) -> DataFrame:
    data = data_of(frame)
    names = frame.columns
    found = [
        *(_unread(data) if RAW in names else ()),
        *find_missing_values(keys, "part of the key"),
        *find_missing_values((cursor,) if cursor else (), "the cursor"),
        *find_misfits(data, table),
    ]
    as_text = spark.to_json(spark.struct(*(quote_name(each.name) for each in data.fields)))
    text = spark.coalesce(spark.col(RAW), as_text) if RAW in names else as_text
    # Only if a row can be bad: Spark collects the file's metadata for every row, even if it is not used in the end.
    file = (FILE_NAME,) if of_files and found else ()
    why = spark.concat_ws(": ", *file, describe_misfits(found))
    return frame.select(*cast_columns(data, table), is_misfit(found).alias(_BAD), why.alias(_WHY), text.alias(_TEXT))


def _unread(data: StructType) -> list[Misfit]:
    # Naming every column makes Spark parse every column; otherwise it does not detect all errors.
    empty = (spark.when(spark.col(quote_name(each.name)).isNull(), spark.lit(each.name)) for each in data.fields)
    why = spark.concat(
        spark.lit("the row does not fit the columns; columns without a value: "), spark.concat_ws(", ", *empty)
    )
    return [Misfit(spark.col(RAW).isNotNull(), why)]


def _drop_marks(rows: DataFrame) -> DataFrame:
    return rows.drop(_BAD, _WHY, _TEXT)
