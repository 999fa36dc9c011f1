"""Rows into a table by key, at a cost that follows the rows: the parts of the table without their keys are not read."""

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
"""Types whose values come to the client and go back as they were."""
_LISTED = 200
"""So many values of a key are looked for one by one; Iceberg compares no more of them with what a file says of itself."""
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
    """Bring rows into a table by key. Of several with a key the newest counts, which has the highest cursor.

    A row that is older than the table's own of that key changes nothing. `held` returns rows that do not change any more.
    """
    newest = _newest(frame, keys, cursor)
    if not exists:
        # In the order of the keys, so that the files of the table tell which keys they have.
        merge(newest.orderBy(*map(quote_name, keys)), into, keys, exists=False)
        return
    # What is asked of the rows before they are merged has to be true of those that are merged.
    rows = held(newest)
    count, within = _build_key_condition(rows, into, keys)
    if count:
        _write_beside(frame, into)
        merge(rows, into, keys, exists=True, within=within, unless=_older(into, cursor) if cursor else None)


def _newest(frame: DataFrame, keys: Sequence[str], cursor: str | None) -> DataFrame:
    order = [spark.desc_nulls_last(quote_name(cursor))] if cursor else []
    # Of rows that are equally new always the same one, whichever comes first.
    hashed = [quote_name(field.name) for field in frame.schema.fields if not _has_map(field.dataType)]
    window = Window.partitionBy(*map(quote_name, keys)).orderBy(*order, spark.xxhash64(*hashed))
    return frame.withColumn(_PLACE, spark.row_number().over(window)).where(f"{_PLACE} = 1").drop(_PLACE)


def _older(into: str, cursor: str) -> Column:
    """Return whether a row is older than the one that the table has of its key."""
    is_older = spark.col(qualified_column(into, cursor)) > spark.col(qualified_column(NEW, cursor))
    return spark.coalesce(is_older, spark.lit(False))  # noqa: FBT003 (a value, not a flag)


def _build_key_condition(rows: DataFrame, into: str, keys: Sequence[str]) -> tuple[int, Column]:
    """Return how many rows there are, and a condition on the table that holds for all rows with one of their keys."""
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
    """Have merges write what changes beside a table's files, where nobody has said how."""
    said = {row.key for row in frame.sparkSession.sql(f"SHOW TBLPROPERTIES {quote_table(into)}").collect()}
    if MERGE_MODE not in said:
        frame.sparkSession.sql(f"ALTER TABLE {quote_table(into)} SET TBLPROPERTIES ('{MERGE_MODE}' = '{BESIDE}')")


def _has_map(type: DataType) -> bool:
    if isinstance(type, StructType):
        return any(_has_map(field.dataType) for field in type.fields)
    return _has_map(type.elementType) if isinstance(type, ArrayType) else isinstance(type, MapType)
