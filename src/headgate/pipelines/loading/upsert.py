"""Upsert of rows by key, at a cost proportional to the rows: files of the table without their keys are not read."""

from collections.abc import Callable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql.connect import functions as spark
from pyspark.sql.connect.window import Window
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructType,
)

from headgate.pipelines.sql_quoting import quote_name, quote_table
from headgate.pipelines.writing.lake_table import BESIDE, MERGE_MODE, NEW, merge, qualified_column

_EXACT = (IntegerType, LongType, DecimalType, StringType, DateType)
"""Types whose values survive the way to the client and back exactly."""
_LISTED = 200
"""The maximum number of key values in an `IN` condition; Iceberg compares no more of them with a file's statistics."""
_PLACE = "headgate_place"


def upsert(
    frame: DataFrame,
    into: str,
    keys: Sequence[str],
    cursor: str | None,
    held: Callable[[DataFrame], DataFrame],
    *,
    exists: bool,
) -> None:
    """Upsert rows into a table by key. Of several rows with one key, the newest counts, by the highest cursor.

    A row that is older than the table's row of its key changes nothing. `held` returns a fixed copy of rows.
    """
    newest = _newest(frame, keys, cursor)
    if not exists:
        # Sorted by key, so that the statistics of each file have a narrow range of keys.
        merge(newest.orderBy(*map(quote_name, keys)), into, keys, exists=False)
        return
    # The condition is computed from the rows before the merge, so they must be the same rows in the merge.
    rows = held(newest)
    count, within = _build_key_condition(rows, into, keys)
    if count:
        _write_beside(frame, into)
        merge(rows, into, keys, exists=True, within=within, unless=_older(into, cursor) if cursor else None)


def _newest(frame: DataFrame, keys: Sequence[str], cursor: str | None) -> DataFrame:
    order = [spark.desc_nulls_last(quote_name(cursor))] if cursor else []
    # Among equally new rows the choice is deterministic, by a hash, and does not depend on their order.
    hashed = [quote_name(field.name) for field in frame.schema.fields if not _has_map(field.dataType)]
    window = Window.partitionBy(*map(quote_name, keys)).orderBy(*order, spark.xxhash64(*hashed))
    return frame.withColumn(_PLACE, spark.row_number().over(window)).where(f"{_PLACE} = 1").drop(_PLACE)


def _older(into: str, cursor: str) -> Column:
    """Return the condition that a row is older than the table's row of its key."""
    is_older = spark.col(qualified_column(into, cursor)) > spark.col(qualified_column(NEW, cursor))
    return spark.coalesce(is_older, spark.lit(False))  # noqa: FBT003 (a value, not a flag)


def _build_key_condition(rows: DataFrame, into: str, keys: Sequence[str]) -> tuple[int, Column]:
    """Return the number of rows, and a condition on the table that is true for all its rows with one of their keys."""
    types = {field.name: field.dataType for field in rows.schema.fields}
    asked = [key for key in keys if isinstance(types[key], _EXACT)]
    bounds = [made(quote_name(key)) for key in asked for made in (spark.min, spark.max)]
    count, *found = rows.agg(spark.count("*"), *bounds).collect()[0]
    within = spark.lit(True)  # noqa: FBT003 (a value, not a flag)
    for at, key in enumerate(asked):
        within &= spark.col(qualified_column(into, key)).between(*found[2 * at : 2 * at + 2])
    if asked and count <= _LISTED:
        for at, values in enumerate(zip(*rows.select(*map(quote_name, asked)).collect(), strict=True)):
            within &= spark.col(qualified_column(into, asked[at])).isin(*sorted(set(values)))
    return count, within


def _write_beside(frame: DataFrame, into: str) -> None:
    """Set the table's merge mode to merge-on-read, unless the property is set already."""
    said = {row.key for row in frame.sparkSession.sql(f"SHOW TBLPROPERTIES {quote_table(into)}").collect()}
    if MERGE_MODE not in said:
        frame.sparkSession.sql(f"ALTER TABLE {quote_table(into)} SET TBLPROPERTIES ('{MERGE_MODE}' = '{BESIDE}')")


def _has_map(type: DataType) -> bool:
    if isinstance(type, StructType):
        return any(_has_map(field.dataType) for field in type.fields)
    return _has_map(type.elementType) if isinstance(type, ArrayType) else isinstance(type, MapType)
